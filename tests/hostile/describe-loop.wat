;; Computes for ever when it is asked what it is.
(func $describe (loop $ever (br $ever)))

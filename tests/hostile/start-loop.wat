;; Computes for ever before anything is asked of it.
(func $ever (loop $ever (br $ever)))
(start $ever)

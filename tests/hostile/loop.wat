;; Computes for ever.
(func $execute (loop $ever (br $ever)))

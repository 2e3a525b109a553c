;; Takes all memory that there is, and then some.
(func $execute
  (loop $more
    (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
  unreachable)

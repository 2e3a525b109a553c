;; Takes all of a table that there is, and then some.
(table $t 1 funcref)
(func $execute
  (loop $more
    (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
  unreachable)

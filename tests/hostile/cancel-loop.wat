;; Leaves work behind, and computes for ever when it is asked to cancel it.
(data (i32.const 2048) "job")
(func $execute
  (i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1040) (i32.const 2048)) (i32.store (i32.const 1044) (i32.const 3))
  (i32.store8 (i32.const 1048) (i32.const 1)) (i64.store (i32.const 1056) (i64.const 3600000)))
(func $cancel (loop $ever (br $ever)))

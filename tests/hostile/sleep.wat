;; Sleeps for as long as can be said, by `which`: 0 by the contract, 1 by a timer, 2 by a moment, 3 by a question's timeout,
;; 4 for a child that there is not.
(data (i32.const 2048) "go on?")
(data (i32.const 2100) "{\"type\":\"boolean\"}")
(func $execute
  (block $4 (block $3 (block $2 (block $1 (block $0
    (br_table $0 $1 $2 $3 $4 (global.get $which)))
    (call $sleep (i64.const -1) (i32.const 3000)) (return))
    (call $block (call $subscribe (i64.const -1))) (return))
    (call $block (call $subscribe_instant (i64.const -1))) (return))
    (call $ask (i32.const 2048) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2100) (i32.const 18)
      (i32.const 1) (i64.const -1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000)) (return))
  (i32.store (i32.const 3200) (i32.const 77))
  (call $wait_any (i32.const 3200) (i32.const 1) (i32.const 1) (i64.const -1) (i32.const 3100)))

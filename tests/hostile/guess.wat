;; Tries every handle that another task could have: looks for replies, results, and something to wait for, and withdraws them.
;; Says how many of them there were.
(func $execute (local $n i32) (local $found i32)
  (loop $again
    (i32.store8 (i32.const 3000) (i32.const 0))
    (call $reply_to (local.get $n) (i32.const 3000))
    (local.set $found (i32.add (local.get $found) (i32.load8_u (i32.const 3000))))
    (i32.store8 (i32.const 3400) (i32.const 0))
    (call $result_of (local.get $n) (i32.const 3400))
    (local.set $found (i32.add (local.get $found) (i32.load8_u (i32.const 3400))))
    (i32.store (i32.const 3200) (local.get $n))
    (call $wait_any (i32.const 3200) (i32.const 1) (i32.const 1) (i64.const 0) (i32.const 3100))
    (local.set $found (i32.add (local.get $found) (i32.eqz (i32.load8_u (i32.const 3100)))))
    (call $withdraw (local.get $n))
    (global.set $free (i32.const 0x300000))
    (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))
  (call $progress (i32.const 2048) (i32.const 0) (i32.const 1) (f64.convert_i32_u (local.get $found))
    (i32.const 0) (f64.const 0) (i32.const 1)))

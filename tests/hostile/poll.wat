;; Polls on a hundred thousand timers: the same ten over and over. None of them is ready before long.
(func $execute (local $n i32)
  (loop $again
    (i32.store (i32.add (i32.const 0x10000) (i32.mul (local.get $n) (i32.const 4)))
      (if (result i32) (i32.lt_u (local.get $n) (i32.const 10))
        (then (call $subscribe (i64.const 1000000)))
        (else (i32.load (i32.add (i32.const 0x10000) (i32.mul (i32.rem_u (local.get $n) (i32.const 10)) (i32.const 4)))))))
    (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))
  (call $poll (i32.const 0x10000) (i32.const 100000) (i32.const 3000)))

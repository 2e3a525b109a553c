;; Wants 2^64 - 1 random bytes, all at once.
(func $execute (call $random_bytes (i64.const -1) (i32.const 3000)))

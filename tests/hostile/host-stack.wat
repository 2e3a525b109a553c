;; Calls the host at every depth of its stack, down to where there is next to nothing left of it.
(func $execute
  (drop (call $now))
  (call $wall (i32.const 3000))
  (drop (call $is_cancelled))
  (call $setting (i32.const 2048) (i32.const 5) (i32.const 3000))
  (call $execute)
  (drop (call $now)))

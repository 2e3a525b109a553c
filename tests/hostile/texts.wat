;; Says things that would do something to a terminal: NUL, a bell, colours, a cleared screen, a new title, text that runs
;; backwards. Then it asks, logs and returns them.
(data (i32.const 2048) "\00\07\1b[31m\1b[2J\1b]0;owned\07\e2\80\ae\c2\9b31m\r\0agone\e2\81\a6")
(data (i32.const 2100) "{\"type\":\"boolean\"}")
(data (i32.const 2200) "\"\\u0000\\u0007\\u001b[31m\\u202e\"")
(func $execute
  (call $progress (i32.const 2048) (i32.const 38) (i32.const 0) (f64.const 0) (i32.const 0) (f64.const 0) (i32.const 1))
  (call $write (call $stdout) (i32.const 2048) (i32.const 38) (i32.const 3000))
  (call $ask (i32.const 2048) (i32.const 38) (i32.const 1) (i32.const 2048) (i32.const 38) (i32.const 2100) (i32.const 18)
    (i32.const 1) (i64.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000))
  ;; A part whose type, name and text it is.
  (i32.store (i32.const 4000) (i32.const 2048)) (i32.store (i32.const 4004) (i32.const 38))
  (i32.store (i32.const 4008) (i32.const 1)) (i32.store (i32.const 4012) (i32.const 2048)) (i32.store (i32.const 4016) (i32.const 38))
  (i32.store (i32.const 4024) (i32.const 2048)) (i32.store (i32.const 4028) (i32.const 38)) (i32.store (i32.const 4028) (i32.const 38))
  (i32.store (i32.const 1040) (i32.const 4000)) (i32.store (i32.const 1044) (i32.const 1)))

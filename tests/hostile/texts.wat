;; Says things that would do something to a terminal: NUL, a bell, colours, a cleared screen, a new title, text that runs
;; backwards. Then it asks, logs and returns them; or, where `which` is 1, wants a setting and a tool that are called so, and fails
;; with them.
(data (i32.const 2048) "\00\07\1b[31m\1b[2J\1b]0;owned\07\e2\80\ae\c2\9b31m\r\0agone\e2\81\a6")
(data (i32.const 2100) "{\"type\":\"boolean\"}")
(data (i32.const 2200) "\"\\u0000\\u0007\\u001b[31m\\u202e\"")
(data (i32.const 2300) "a/\1b[2J\07\e2\80\aea")
(func $fail
  (call $setting (i32.const 2048) (i32.const 38) (i32.const 3000))
  (call $start_tool (i32.const 2300) (i32.const 11) (i32.const 2100) (i32.const 2) (i32.const 3000))
  ;; An error of the kind `failed`, whose message and details it is.
  (i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1032) (i32.const 1))
  (i32.store (i32.const 1036) (i32.const 2048)) (i32.store (i32.const 1040) (i32.const 38))
  (i32.store8 (i32.const 1064) (i32.const 1)) (i32.store (i32.const 1068) (i32.const 2048)) (i32.store (i32.const 1072) (i32.const 38)))
(func $execute
  (if (global.get $which) (then (call $fail) (return)))
  (call $progress (i32.const 2048) (i32.const 38) (i32.const 0) (f64.const 0) (i32.const 0) (f64.const 0) (i32.const 1))
  (call $write (call $stdout) (i32.const 2048) (i32.const 38) (i32.const 3000))
  (call $ask (i32.const 2048) (i32.const 38) (i32.const 1) (i32.const 2048) (i32.const 38) (i32.const 2100) (i32.const 18)
    (i32.const 1) (i64.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000))
  ;; A part whose type, name and text it is.
  (i32.store (i32.const 4000) (i32.const 2048)) (i32.store (i32.const 4004) (i32.const 38))
  (i32.store (i32.const 4008) (i32.const 1)) (i32.store (i32.const 4012) (i32.const 2048)) (i32.store (i32.const 4016) (i32.const 38))
  (i32.store (i32.const 4024) (i32.const 2048)) (i32.store (i32.const 4028) (i32.const 38)) (i32.store (i32.const 4028) (i32.const 38))
  (i32.store (i32.const 1040) (i32.const 4000)) (i32.store (i32.const 1044) (i32.const 1))
  ;; And as JSON.
  (i32.store8 (i32.const 1048) (i32.const 1)) (i32.store (i32.const 1052) (i32.const 2200)) (i32.store (i32.const 1056) (i32.const 30)))

;; Gives the host what is no text, by `which`: 0 bytes that are no UTF-8, 1 half of a character, 2 a text that begins beyond its
;; memory, 3 one that ends there, 4 one whose end is beyond what can be counted to, 5 a place for the answer beyond it, 6 a
;; handle that it was never given, 7 a level that there is not.
(data (i32.const 2048) "\ff\fe\e2\82")
(func $say (param i32 i32)
  (call $progress (local.get 0) (local.get 1) (i32.const 0) (f64.const 0) (i32.const 0) (f64.const 0) (i32.const 1)))
(func $execute
  (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
    (br_table $0 $1 $2 $3 $4 $5 $6 $7 (global.get $which)))
    (call $say (i32.const 2048) (i32.const 2)) (return))
    (call $say (i32.const 2050) (i32.const 2)) (return))
    (call $say (i32.const 0x7fffffff) (i32.const 1)) (return))
    (call $say (i32.const 0x3fffff) (i32.const 2)) (return))
    (call $say (i32.const -1) (i32.const -1)) (return))
    (call $setting (i32.const 2048) (i32.const 0) (i32.const 0x7ffffff0)) (return))
    (call $block (i32.const 12345)) (return))
  (call $progress (i32.const 0) (i32.const 0) (i32.const 0) (f64.const 0) (i32.const 0) (f64.const 0) (i32.const 99)))

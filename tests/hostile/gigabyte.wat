;; Returns a gigabyte, by `which`: 0 a thousand parts that are all the same megabyte, 1 a text that ends far beyond its memory,
;; 2 a list of parts that does, 3 an output of 200 MB.
(func $execute (local $n i32)
  (block $3 (block $2 (block $1 (block $0
    (br_table $0 $1 $2 $3 (global.get $which)))
    (memory.fill (i32.const 0x200000) (i32.const 97) (i32.const 0x100000))
    (loop $part
      ;; media-type "", no name, text.
      (i32.store offset=0x10018 (i32.mul (local.get $n) (i32.const 32)) (i32.const 0x200000))
      (i32.store offset=0x1001c (i32.mul (local.get $n) (i32.const 32)) (i32.const 0x100000))
      (br_if $part (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))
    (i32.store (i32.const 1040) (i32.const 0x10000)) (i32.store (i32.const 1044) (i32.const 1000)) (return))
    (i32.store8 (i32.const 1048) (i32.const 1)) (i32.store (i32.const 1052) (i32.const 2048))
    (i32.store (i32.const 1056) (i32.const 0x40000000)) (return))
    (i32.store (i32.const 1040) (i32.const 2048)) (i32.store (i32.const 1044) (i32.const 0x2000000)) (return))
  (drop (memory.grow (i32.const 3200)))
  (memory.fill (i32.const 0x400000) (i32.const 32) (i32.const 200000000))
  (i32.store8 (i32.const 0x400000) (i32.const 49))
  (i32.store8 (i32.const 1048) (i32.const 1)) (i32.store (i32.const 1052) (i32.const 0x400000))
  (i32.store (i32.const 1056) (i32.const 200000000)))

/// The MD5 digest of RFC 1321, which the protocol prescribes for bloom filters.
///
/// Not for security: collisions of MD5 can be forged. Decision 6 says why it is not taken from a library.
struct MD5 {
  private var a: UInt32 = 0x6745_2301
  private var b: UInt32 = 0xefcd_ab89
  private var c: UInt32 = 0x98ba_dcfe
  private var d: UInt32 = 0x1032_5476

  /// The digest as two numbers: its first and its last eight bytes, each in little-endian order.
  static func digest(of bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    var state = MD5()
    let whole = bytes.count - bytes.count % blockSize
    for start in stride(from: 0, to: whole, by: blockSize) {
      state.add(UnsafeRawBufferPointer(rebasing: bytes[start..<start + blockSize]))
    }
    state.addLast(UnsafeRawBufferPointer(rebasing: bytes[whole...]), messageLength: bytes.count)
    return (UInt64(state.a) | UInt64(state.b) << 32, UInt64(state.c) | UInt64(state.d) << 32)
  }

  private static let blockSize = 64

  /// Adds the rest of the message with its padding: a one bit, zeros, and the message's length in bits (RFC 1321, 3.1 and 3.2).
  private mutating func addLast(_ rest: UnsafeRawBufferPointer, messageLength: Int) {
    let lengthSize = 8
    let size = rest.count + 1 + lengthSize <= Self.blockSize ? Self.blockSize : 2 * Self.blockSize
    withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { padded in
      padded.initializeMemory(as: UInt8.self, repeating: 0)
      padded.copyMemory(from: rest)
      padded[rest.count] = 0x80
      padded.storeBytes(
        of: (UInt64(messageLength) &* 8).littleEndian, toByteOffset: size - lengthSize, as: UInt64.self)
      for start in stride(from: 0, to: size, by: Self.blockSize) {
        add(UnsafeRawBufferPointer(rebasing: padded[start..<start + Self.blockSize]))
      }
    }
  }

  /// Adds one block of 64 bytes (RFC 1321, 3.4).
  private mutating func add(_ block: UnsafeRawBufferPointer) {
    let former = self
    // One loop for each round, because a switch in a single loop takes almost twice the time.
    for step in 0..<16 { advance((b & c) | (~b & d), block, word: step, step) }
    for step in 16..<32 { advance((d & b) | (~d & c), block, word: (5 &* step &+ 1) & 15, step) }
    for step in 32..<48 { advance(b ^ c ^ d, block, word: (3 &* step &+ 5) & 15, step) }
    for step in 48..<64 { advance(c ^ (b | ~d), block, word: (7 &* step) & 15, step) }
    a &+= former.a
    b &+= former.b
    c &+= former.c
    d &+= former.d
  }

  @inline(__always)
  private mutating func advance(_ mixed: UInt32, _ block: UnsafeRawBufferPointer, word: Int, _ step: Int) {
    let part = UInt32(littleEndian: block.loadUnaligned(fromByteOffset: 4 &* word, as: UInt32.self))
    let sum = a &+ mixed &+ Self.sines[step] &+ part
    let shift = Self.shifts[(step >> 4) &* 4 &+ (step & 3)]
    (a, d, c, b) = (d, c, b, b &+ (sum &<< shift | sum &>> (32 &- shift)))
  }

  /// The rotations of the four rounds, which repeat every four steps.
  private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

  /// The integer part of 2 to the power of 32 times |sin(step + 1)|, for each step.
  private static let sines: [UInt32] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
  ]
}

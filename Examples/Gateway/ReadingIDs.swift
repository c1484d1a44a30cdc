/// Ids of readings: the sensor's name, a random name of this run of the program, and a number.
///
/// No count has to survive a restart. The id is made once, here. However often a reading is sent, the
/// backend has one document of it.
struct ReadingIDs {
  private let prefix: String
  private var number = 0

  init(sensor: String) {
    let run = String(UInt32.random(in: .min ... .max), radix: 16)
    prefix = "\(sensor)-\(String(repeating: "0", count: 8 - run.count))\(run)"
  }

  /// The id of the next reading.
  mutating func next() -> String {
    number += 1
    return "\(prefix)-\(number)"
  }
}

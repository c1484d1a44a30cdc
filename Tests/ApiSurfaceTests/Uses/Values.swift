import Hearth

// section: VectorValue, GeoPoint, Timestamp

func useValues(
  doubles: [Double], vector: VectorValue, double: Double, point: GeoPoint, long: Int64, short: Int32, date: Date,
  timestamp: Timestamp
) {
  // row: VectorValue.init(_ array: [Double])
  let _: VectorValue = VectorValue(doubles)
  // row: VectorValue.array: [Double] { get }
  let _: [Double] = vector.array
  // row: GeoPoint.init(latitude: Double, longitude: Double)
  let _: GeoPoint = GeoPoint(latitude: double, longitude: double)
  // row: GeoPoint.latitude: Double { get }
  let _: Double = point.latitude
  // row: GeoPoint.longitude: Double { get }
  let _: Double = point.longitude
  // row: Timestamp.init(seconds: Int64, nanoseconds: Int32)
  let _: Timestamp = Timestamp(seconds: long, nanoseconds: short)
  // row: Timestamp.init(date: Date)
  let _: Timestamp = Timestamp(date: date)
  // row: Timestamp.init()
  let _: Timestamp = Timestamp()
  // row: Timestamp.dateValue() -> Date
  let _: Date = timestamp.dateValue()
  // row: Timestamp.compare(_ other: Timestamp) -> ComparisonResult
  let _: ComparisonResult = timestamp.compare(timestamp)
  // row: Timestamp.seconds: Int64 { get }
  let _: Int64 = timestamp.seconds
  // row: Timestamp.nanoseconds: Int32 { get }
  let _: Int32 = timestamp.nanoseconds
}

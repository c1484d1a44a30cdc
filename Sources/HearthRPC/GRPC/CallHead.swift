internal import HearthModel
internal import NIOCore
internal import NIOHPACK

/// The facts about a call that the headers of its request state.
struct CallHead {
  var path = ""
  /// The client's time limit; nil if it has none, or one that cannot be read.
  var timeout: TimeAmount?
  var metadata = CallMetadata()
  private var verb = ""
  private var contentType = ""
  private var encoding = "identity"

  init(_ headers: HPACKHeaders) {
    for (name, value, _) in headers {
      switch name {
      case ":path": path = value
      case ":method": verb = value
      case "content-type": contentType = value
      case "grpc-encoding": encoding = value
      case "grpc-timeout": timeout = Self.timeout(value)
      default: metadata.add(name: name, value: value)
      }
    }
  }

  /// The reason why a request is not a call that can be carried out.
  enum Refusal {
    /// A request of HTTP without gRPC.
    case notGRPC
    /// A request that gRPC does not have: the answer is this status of HTTP.
    case http(Int)
    /// The answer is this status of gRPC, with further headers.
    case status(CallStatus)
  }

  /// Nil for a call of gRPC whose messages can be read.
  var refusal: Refusal? {
    // https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Requests".
    guard Self.isGRPC(contentType) else { return .notGRPC }
    guard verb == "POST" else { return .http(405) }
    guard encoding == "identity" else {
      return .status(
        CallStatus(
          .unimplemented,
          "grpc-encoding \"\(encoding.prefix(100))\" is not served; messages must not be compressed (identity). See docs/server.md, "
            + "\"Calls that are not served\".",
          metadata: [("grpc-accept-encoding", "identity")]))
    }
    return nil
  }

  /// `application/grpc` and `application/grpc+proto`, with or without parameters.
  private static func isGRPC(_ contentType: String) -> Bool {
    let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
    return type == "application/grpc" || type == "application/grpc+proto"
  }

  /// The time that a `grpc-timeout` means: one to eight digits and a unit ("Timeout" in the same document). Nil for other text: a client
  /// whose limit cannot be read waits longer than it wants to, and is not refused.
  static func timeout(_ value: String) -> TimeAmount? {
    guard let unit = value.utf8.last, let nanoseconds = nanosecondsByUnit[unit] else { return nil }
    let digits = value.utf8.dropLast()
    guard (1...8).contains(digits.count), digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let amount = Int64(String(Substring(digits)))
    else { return nil }
    let (total, isTooLong) = amount.multipliedReportingOverflow(by: nanoseconds)
    return .nanoseconds(isTooLong ? longest : min(total, longest))
  }

  /// A year. Deadlines are points in time, which later ones could exceed.
  private static let longest: Int64 = 365 * 24 * 3600 * 1_000_000_000

  private static let nanosecondsByUnit: [UInt8: Int64] = [
    UInt8(ascii: "n"): 1, UInt8(ascii: "u"): 1_000, UInt8(ascii: "m"): 1_000_000, UInt8(ascii: "S"): 1_000_000_000,
    UInt8(ascii: "M"): 60_000_000_000, UInt8(ascii: "H"): 3_600_000_000_000,
  ]
}

internal import Foundation

/// The metadata that a client sends with a call: the headers that do not belong to the protocol.
package struct CallMetadata: Sendable {
  private var entries: [(name: String, value: String)] = []

  /// - Parameter headers: Names in lower case, with their values. Those of HTTP/2 and gRPC are left out.
  package init(_ headers: [(name: String, value: String)] = []) {
    for (name, value) in headers { add(name: name, value: value) }
  }

  /// Keeps a header unless its name is one of HTTP/2 or gRPC.
  mutating func add(name: String, value: String) {
    guard !name.hasPrefix(":"), !name.hasPrefix("grpc-"), !Self.reserved.contains(name) else { return }
    entries.append((name, value))
  }

  private static let reserved: Set<String> = ["te", "content-type", "user-agent", "accept-encoding", "content-length"]

  /// The values of a name, which is in lower case, in order.
  package subscript(name: String) -> [String] {
    entries.compactMap { $0.name == name ? $0.value : nil }
  }

  /// The values of a name that ends in `-bin`, decoded. A header may hold several, separated by commas; padding is optional. Values
  /// that are not base64 are left out.
  package func binary(_ name: String) -> [[UInt8]] {
    self[name].flatMap { $0.split(separator: ",") }.compactMap { part in
      var text = part.trimmingCharacters(in: .whitespaces)
      text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
      return Data(base64Encoded: text).map { [UInt8]($0) }
    }
  }
}

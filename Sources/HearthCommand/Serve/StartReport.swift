import Foundation
import HearthModel
import HearthServer

/// The lines that `hearth serve` prints when it serves: the address, the data, and the next steps.
struct StartReport {
  var host: String
  var port: Int
  /// Nil for memory.
  var folder: String?
  /// The place of the data in words; nil for a folder or memory.
  var storage: String?
  /// The databases that are there; nil if they cannot be listed.
  var databases: [DatabaseID]?
  var usesTLS = false
  var tellsCallersApart = false
  /// The file of the security rules; nil for none.
  var rules: String?
  /// The databases of callers who are no administrators, such as `my-app/(default)`.
  var usersDatabases: [String] = []
  /// The names for which the certificate is valid; nil if they are not known.
  var certificateNames: [String]?
  /// The address of the metrics; nil for none.
  var metrics: String?

  private static let shownNames = 8

  /// The address as clients of this machine name it.
  private var clientAddress: String {
    switch host {
    case "0.0.0.0": "127.0.0.1:\(port)"
    case "::": "[::1]:\(port)"
    default: host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }

  private var projects: String {
    guard let databases else { return "not known; see the log" }
    let names = Set(databases.map(\.projectID)).sorted()
    return names.isEmpty ? "none yet: the first write makes one" : Self.list(names)
  }

  private static func list(_ names: [String]) -> String {
    let more = names.count > shownNames ? ", and \(names.count - shownNames) more" : ""
    return names.prefix(shownNames).joined(separator: ", ") + more
  }

  private var callers: String {
    switch (tellsCallersApart, rules) {
    case (true, let rules?): "administrators, and others by the rules in \(rules): \(Self.list(usersDatabases))"
    case (true, nil): "administrators only: there are no rules for others"
    case (false, let rules?): "by the rules in \(rules); tokens are not verified: for development"
    case (false, nil): "everybody may do everything: for development"
    }
  }

  /// Programs read the first line, and the second one if there are metrics.
  var lines: [String] {
    var lines = ["Hearth is serving on \(host):\(port)"]
    if let metrics { lines.append("Metrics are at \(metrics)") }
    let data =
      storage ?? folder.map { "in the folder \(URL(fileURLWithPath: $0).standardizedFileURL.path)" }
      ?? "in memory: gone when the server stops"
    lines += [
      "  version   \(HearthVersion.text)",
      "  data      \(data)",
      "  projects  \(projects)",
      usesTLS
        ? "  address   https://\(clientAddress) for gRPC, and for REST at /v1/"
        : "  address   \(clientAddress) for gRPC, http://\(clientAddress)/v1/ for REST",
      "  callers   \(callers)",
    ]
    if let names = certificateNames {
      let text = names.isEmpty ? "the certificate names no host: clients refuse it" : "for \(Self.list(names))"
      lines.append("  TLS       \(text)")
    }
    lines.append("  stop      Ctrl-C, or kill \(ProcessInfo.processInfo.processIdentifier)")
    if !tellsCallersApart, !usesTLS {
      lines += [
        "To use it from a shell:",
        "  export FIRESTORE_EMULATOR_HOST=\(clientAddress)",
        "  hearth data databases",
      ]
    }
    return lines.map { Terminal.safe($0) }
  }
}

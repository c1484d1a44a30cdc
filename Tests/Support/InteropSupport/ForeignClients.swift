package import Foundation
import TestSupport

/// Google's own Python client, where this machine has it.
package enum PythonClient {
  @Sendable package static func isInstalled() async -> Bool {
    guard let python = Programs.find("python3") else { return false }
    let answer = try? await Programs.runInBackground(python, ["-c", "import google.cloud.firestore"])
    return answer?.status == 0
  }
}

/// Google's own Go client, where this machine has it.
package enum GoClient {
  /// The folder of the GOPATH that holds the client with all that it imports, as Debian installs it; nil without Go or the client.
  @Sendable package static func goPath() async -> String? {
    guard let go = Programs.find("go"), let output = try? await Programs.runInBackground(go, ["env", "GOPATH"]) else {
      return nil
    }
    let folders = output.text.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ":").map(String.init)
    return (folders + ["/usr/share/gocode"]).first {
      FileManager.default.fileExists(atPath: "\($0)/src/cloud.google.com/go/firestore")
    }
  }
}

/// Google's own JavaScript SDK, where this machine has it.
package enum JavaScriptSDK {
  /// The folder below which Node finds the packages: the one of HEARTH_JS_SDK, by default `.build/js-sdk` of this package.
  package static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["HEARTH_JS_SDK"] { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(".build/js-sdk")
  }()

  package static var isInstalled: Bool { has("firebase") }

  /// True if the package with which apps test their rules is there as well.
  package static var hasRulesUnitTesting: Bool { isInstalled && has("@firebase/rules-unit-testing") }

  private static func has(_ name: String) -> Bool {
    let package = folder.appendingPathComponent("node_modules/\(name)/package.json")
    return Programs.find("node") != nil && FileManager.default.fileExists(atPath: package.path)
  }
}

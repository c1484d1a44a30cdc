internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthRules
internal import Logging
internal import Synchronization

/// The file with the security rules of all projects of a server.
package final class RulesFile: Sendable {
  /// Changes when the file is written or replaced.
  private struct Stamp: Equatable {
    var modified: Date?
    var size: Int?
    var file: Int?
  }

  private let path: String
  private let rules: AccessRules
  private let seen = Mutex<Stamp?>(nil)

  private static let maximumBytes = 1 << 20

  init(path: String, of rules: AccessRules) {
    self.path = path
    self.rules = rules
  }

  private var stamp: Stamp {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return Stamp(
      modified: attributes?[.modificationDate] as? Date, size: attributes?[.size] as? Int,
      file: attributes?[.systemFileNumber] as? Int)
  }

  /// Reads the file, and makes its rules those of the server.
  ///
  /// - Throws: `ServerError` that names the file, the lines and what is wrong in them.
  ///
  /// - Returns: The warnings about the rules.
  @discardableResult
  func read() throws(ServerError) -> [RuleIssue] {
    seen.withLock { $0 = stamp }
    let text = try Self.text(path: path)
    do {
      let rules = try RuleSet(text)
      self.rules.replace(rules)
      return rules.warnings
    } catch {
      throw ServerError(.rules, "The rules file \"\(path)\" has errors:\n\(error)")
    }
  }

  /// The text of a file of rules.
  ///
  /// - Throws: `ServerError` that names the file.
  package static func text(path: String) throws(ServerError) -> String {
    let content: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      content = try file.read(upToCount: Self.maximumBytes) ?? Data()
    } catch {
      throw ServerError(.rules, "Cannot read the rules file \"\(path)\": \((error as NSError).localizedDescription)")
    }
    guard let text = String(bytes: content, encoding: .utf8) else {
      throw ServerError(.rules, "The rules file \"\(path)\" is not text in UTF-8.")
    }
    return text
  }

  /// Logs mistakes that do not prevent rules from being used.
  static func log(_ warnings: [RuleIssue], _ path: String, _ logger: Logger) {
    for issue in warnings {
      logger.warning("in the rules", metadata: ["file": .escaped(path), "warning": .escaped("\(issue)")])
    }
  }

  /// Reads the file again whenever it has changed, until the task is cancelled. Rules with errors change nothing.
  ///
  /// - Parameter replaced: Called after new rules are in force.
  func watch(every interval: Duration, logger: Logger, replaced: @Sendable () -> Void) async {
    while (try? await Task.sleep(for: interval)) != nil {
      guard stamp != seen.withLock({ $0 }) else { continue }
      do throws(ServerError) {
        Self.log(try read(), path, logger)
        logger.info("the rules were read again", metadata: ["file": .escaped(path)])
        replaced()
      } catch {
        logger.error("the rules stay as they are", metadata: ["error": .escaped("\(error)")])
      }
    }
  }
}

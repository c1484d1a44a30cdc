internal import HearthModel
internal import HearthRPC
internal import HearthRules
internal import Logging
internal import Synchronization

/// The file with the security rules of all projects of a server.
package final class RulesFile: Sendable {
  private let file: BoundedFile
  private let rules: AccessRules
  private let seen = Mutex<BoundedFile.Stamp?>(nil)

  init(path: String, of rules: AccessRules) {
    file = BoundedFile(path: path)
    self.rules = rules
  }

  /// Reads the file, and makes its rules those of the server.
  ///
  /// - Returns: The warnings about the rules.
  /// - Throws: `ServerError` that names the file, the lines and what is wrong in them.
  func read() throws(ServerError) -> [RuleIssue] {
    seen.withLock { $0 = file.stamp }
    let text = try Self.text(path: file.path)
    do {
      let rules = try RuleSet(text)
      self.rules.replace(rules)
      return rules.warnings
    } catch {
      throw ServerError(.rules, "The rules file \"\(file.path)\" has errors:\n\(error)")
    }
  }

  /// The text of a file of rules.
  ///
  /// - Throws: `ServerError` that names the file.
  package static func text(path: String) throws(ServerError) -> String {
    do {
      return try BoundedFile(path: path).text()
    } catch {
      throw ServerError(.rules, "The rules file \"\(path)\" \(error).")
    }
  }

  /// Logs mistakes that do not prevent rules from being used.
  func log(_ warnings: [RuleIssue], _ logger: Logger) {
    for issue in warnings {
      logger.warning(
        "a warning about the rules", metadata: ["file": .escaped(file.path), "warning": .escapedLines("\(issue)")])
    }
  }

  /// Reads the file again whenever it has changed, until the task is cancelled. Rules with errors change nothing.
  func watch(every interval: Duration, logger: Logger) async {
    while (try? await Task.sleep(for: interval)) != nil {
      guard file.stamp != seen.withLock({ $0 }) else { continue }
      do throws(ServerError) {
        log(try read(), logger)
        logger.info("the rules were read again", metadata: ["file": .escaped(file.path)])
      } catch {
        logger.error("the rules stay as they are", metadata: ["error": .escapedLines("\(error)")])
      }
    }
  }
}

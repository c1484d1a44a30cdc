/// The resources that a server may use while it is attacked.
///
/// Sizes are bounds of the server's design, so they are strict. Work is the server's processor time, which other processes of a busy
/// machine hardly change; waiting is a cap for calls that no processor works on.
struct Budget: Sendable {
  /// Growth of the largest resident set over the one of the idle server, in MiB. Each of 8 clients may have a piece of a result three times:
  /// as documents, as messages, and as frames. One result of 16 MB for each would be 128 MiB.
  var memoryMiB = 48
  /// Size of the write-ahead log, in MiB: the value of its flag, and the largest group of commits.
  var walMiB = 64 + 4
  /// Size of the history as the server counts it, in MiB: the value of its flag, and the largest group of commits.
  var historyMiB = 32 + 4
  /// Size of all other files, in MiB: twice the documents and the history.
  var filesMiB = 160
  /// Descriptors of the process: some are kept free of connections for files.
  var descriptors = ServerProcess.descriptorLimit - 16
  /// Processor time of the server from the start of the attack to its end. A debug build needs up to 3 s for what is asked; work that grows
  /// with the square of a request, or with all that a client could read, takes minutes.
  var work = Duration.seconds(15)
  /// Processor time of the server during one step of an honest client: a turn of each of the other clients, in a debug build.
  var honestWork = Duration.seconds(3)
  /// Time of one step of an honest client, in addition to the time that such a step takes on this machine without an attack.
  var honestTime = Duration.seconds(10)
}

/// The resources that a server has used while it was attacked, for comparison with a ``Budget``.
struct Outcome {
  var memoryMiB = 0
  var walMiB = 0
  var historyMiB = 0
  var filesMiB = 0
  var descriptors = 0
  var work = Duration.zero
  var answer = Duration.zero
  var honest = HonestClient.Latencies()
  /// Failures of the attack itself: answers that did not come, errors of the test.
  var failures: [String] = []
  var duration = Duration.zero

  /// Each excess over the budget, as a sentence.
  /// - Parameter baseline: The longest step of an honest client without an attack.
  func excesses(over budget: Budget, baseline: Duration) -> [String] {
    var excesses = failures + honest.failures.map { "an honest client failed: \($0)" }
    func check<Value: Comparable>(_ what: String, _ value: Value, _ limit: Value) {
      if value > limit { excesses.append("\(what): \(value), budget \(limit)") }
    }
    check("MiB of memory", memoryMiB, budget.memoryMiB)
    check("MiB of write-ahead log", walMiB, budget.walMiB)
    check("MiB of history", historyMiB, budget.historyMiB)
    check("MiB of files", filesMiB, budget.filesMiB)
    check("descriptors", descriptors, budget.descriptors)
    check("processor time", work, budget.work)
    check("processor time during one step of an honest client", honest.worstWork, budget.honestWork)
    check("time of one step of an honest client", honest.worstTime, budget.honestTime + baseline * 100)
    return excesses
  }

  var summary: String {
    let honest = HonestClient.Step.allCases.map { step in
      "\(step) \((self.honest.worst[step] ?? .zero).milliseconds)"
    }
    return
      "+\(memoryMiB) MiB, log \(walMiB), history \(historyMiB), files \(filesMiB) MiB, \(descriptors) descriptors, "
      + "answer \(answer.milliseconds) ms, honest \(honest.joined(separator: " ")) ms, "
      + "\(self.honest.worstWork.milliseconds) ms of work in one, "
      + "\(work.milliseconds) ms of processor time in \(duration.milliseconds) ms"
  }
}

extension Duration {
  var milliseconds: Int {
    Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}

import HearthCache

/// The ways in which a history of several clients differs from others. They follow from its seed alone.
struct SharedHistory {
  var clientCount: Int
  /// The number of steps before the end.
  var stepCount: Int
  /// A backend that knows no labels commits a batch again whose answer was lost.
  var backendKnowsLabels: Bool
  var noticeLimits: LocalStore.NoticeLimits
  /// The probability, in percent, that another client acts before a transaction.
  var interleaving: Int
  /// True if every query of a collection runs in the background, for some steps.
  var runsQueriesInBackground: Bool
  /// The probability, in percent, of a garbage collection after a step.
  var collection: Int
  /// The probability, in percent, of a step of clearing after a step.
  var clearing: Int

  init(seed: UInt64) {
    // Not the generator of the steps.
    var choices = SeededGenerator(seed: ~seed)
    backendKnowsLabels = choices.chance(70)
    interleaving = choices.pick([0, 0, 2, 10])
    noticeLimits = choices.pick([
      .init(), .init(betweenMarks: 8, waiting: 1 << 20), .init(betweenMarks: 4, waiting: 12),
    ])
    clientCount = Int.random(in: 2...4, using: &choices)
    stepCount = choices.pick([30, 50, 50, 80, 120])
    runsQueriesInBackground = choices.chance(20)
    collection = choices.pick([0, 0, 3, 12])
    clearing = choices.pick([0, 0, 6, 20])
  }
}

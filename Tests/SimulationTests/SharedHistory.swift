import HearthCache
import HearthSync

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
  /// The identities of the processes.
  var users: [String?]
  /// False if each process has one identity from its beginning to its end.
  var changesUsers: Bool
  /// True if processes have networks of their own. Some lead nowhere for a while.
  var hasNetworks: Bool
  /// The probability, in percent, that another program begins to write the file, or ends that, before a step.
  var holding: Int
  /// True if clients go on in another engine now and then, as after damage.
  var reopens: Bool

  init(seed: UInt64) {
    // Not the generator of the steps.
    var choices = HistoryGenerator(seed: ~seed)
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
    changesUsers = choices.chance(70)
    users = changesUsers ? ["anna", "otto"] : choices.pick(Self.identities)
    hasNetworks = choices.chance(40)
    holding = choices.pick([0, 0, 0, 6])
    reopens = choices.chance(25)
  }

  /// Names that could be taken for each other.
  private static let identities: [[String?]] = [
    ["anna", nil], ["owner", OutboxOwner.emulatorOwner.name],
    ["a@b", OutboxOwner.serviceAccount("a@b").name],
    ["anna", OutboxOwner.application("anna").name, OutboxOwner.serviceAccount("anna").name],
  ]

  /// The times of turns with the lease. Where networks come and go they are short, so that many fit into a history.
  var configuration: SyncConfiguration {
    var configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2,
      backgroundQueryLimits: runsQueriesInBackground
        ? BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 3) : nil, jitter: { 0 })
    guard hasNetworks else { return configuration }
    configuration.leaseTurn = .seconds(2)
    configuration.offlineLeaseTurn = .seconds(5)
    configuration.futileTurnPause = .seconds(10)
    return configuration
  }
}

import HearthCache

/// The ways in which a history of processes on one cache folder differs from others. They follow from its seed alone.
struct FolderHistory {
  /// The faults that hit the folder from outside. A history has one, two or all of them.
  struct Faults: OptionSet {
    let rawValue: Int

    /// Pages of the file are overwritten, zeroed or cut off.
    static let damage = Faults(rawValue: 1)
    /// The folder is deleted, or another state or another folder is put in its place.
    static let replacement = Faults(rawValue: 2)
    /// Other releases open the folder, and one process asks for it.
    static let releases = Faults(rawValue: 4)
    /// Processes are stopped, also in the middle of a transaction.
    static let stops = Faults(rawValue: 8)
    /// Processes lose their network.
    static let networks = Faults(rawValue: 16)
  }

  var faults: Faults
  var processCount: Int
  /// The number of steps before the end.
  var stepCount: Int
  /// The probability, in percent, of a fault before a step.
  var faultChance: Int
  /// The probability, in percent, that another process acts before a transaction.
  var interleaving: Int
  var noticeLimits: LocalStore.NoticeLimits
  /// True if one process has no network at the end either, and another one of its identity has.
  var endsCutOff: Bool

  init(seed: UInt64) {
    // Not the generator of the steps.
    var choices = HistoryGenerator(seed: ~seed)
    let all: [Faults] = [.damage, .replacement, .releases, .stops, .networks]
    faults = [choices.pick(all), choices.pick(all)]
    if choices.chance(25) { faults = [.damage, .replacement, .releases, .stops, .networks] }
    processCount = choices.pick([2, 2, 3])
    stepCount = choices.pick([25, 40, 40, 60])
    faultChance = choices.pick([6, 10, 20])
    interleaving = choices.pick([0, 0, 3])
    noticeLimits = choices.pick([.init(), .init(betweenMarks: 8, waiting: 1 << 20)])
    endsCutOff = choices.chance(25)
  }
}

import HearthModel

/// The ways in which a history of edits differs from others. They follow from its seed alone.
struct ConflictHistory {
  enum Kind: CaseIterable {
    case mergeFields, keepBoth, ask

    var policy: ConflictPolicy {
      switch self {
      case .mergeFields: .mergeFields(prefersRemote: false)
      case .keepBoth: .keepBoth
      case .ask: .ask(resolver: 0)
      }
    }
  }

  /// The first device's cache. That of the second one is in memory.
  enum Place {
    case memory
    /// In a file that is damaged, repaired and saved in between.
    case file
    /// In a file that two processes use at the same time.
    case shared
  }

  let kind: Kind
  /// The rules of every process, unless they change.
  let rules: ConflictRules
  /// True if each process may be of another release of the application than the one before.
  let changesRules: Bool
  let place: Place
  let backendKnowsLabels: Bool
  /// The client that has no listener, so that it hears of other edits only by conflicts; 0 for none.
  let deafClient: Int

  static let collection = ResourcePath(["c"])

  /// - Parameter rules: The rules of every process; nil for the rules that belong to the seed.
  init(seed: UInt64, rules: ConflictRules?) {
    // Not the generator of the steps.
    var choices = HistoryGenerator(seed: ~seed)
    kind = Kind.allCases[Int(seed % 3)]
    self.rules = rules ?? ConflictRules([ConflictRule(.collection(Self.collection), kind.policy)])
    backendKnowsLabels = choices.chance(60)
    deafClient = choices.chance(20) ? 1 : 0
    let drawn: (place: Place, changesRules: Bool) = (
      choices.pick([.memory, .memory, .file, .shared]), choices.chance(40)
    )
    (place, changesRules) = rules == nil ? drawn : (.memory, false)
  }

  /// The differences between releases of the application.
  struct Release {
    var rules: ConflictRules
    /// The number of batches that are on their way at the same time.
    var maxPendingWriteBatches = 10
  }

  /// The release that a process is of.
  func nextRelease(_ generator: inout HistoryGenerator) -> Release {
    guard changesRules else { return Release(rules: rules) }
    return Release(rules: nextRules(&generator), maxPendingWriteBatches: generator.pick([1, 2, 10, 10]))
  }

  /// No rules, those of one document only, another one, or the same as ever.
  private func nextRules(_ generator: inout HistoryGenerator) -> ConflictRules {
    switch Int.random(in: 0..<5, using: &generator) {
    case 0, 1: return ConflictRules()
    case 2: return ConflictRules([ConflictRule(.document(ConflictSimulation.keys[0]), kind.policy)])
    case 3:
      let others = Kind.allCases.filter { $0 != kind }
      return ConflictRules([ConflictRule(.collection(Self.collection), generator.pick(others).policy)])
    default: return rules
    }
  }
}

internal import ArgumentParser
internal import HearthRPC
internal import HearthServer

/// The limits of `hearth serve` that end connections which flood the server, or do nothing.
struct ConnectionLimitOptions: ParsableArguments {
  private static let defaults = ServerLimits()

  @Option(help: "Pings at once on a connection with calls; more end it, as all of the following do.")
  var pingBurst = defaults.connection.busyPings.burst

  @Option(help: "Pings a second on a connection with calls.")
  var pingsPerSecond = defaults.connection.busyPings.perSecond

  @Option(help: "Pings at once on a connection without calls.")
  var idlePingBurst = defaults.connection.idlePings.burst

  @Option(help: "Pings a second on a connection without calls.")
  var idlePingsPerSecond = defaults.connection.idlePings.perSecond

  @Option(help: "Answers to pings that wait because the client does not read.")
  var maxUnsentPingAnswers = defaults.connection.unsentPingAnswers

  @Option(help: "Streams at once that the client resets before their answer.")
  var resetBurst = defaults.connection.resets.burst

  @Option(help: "Streams a second that the client resets before their answer.")
  var resetsPerSecond = defaults.connection.resets.perSecond

  @Option(help: "Frames at once that bring nothing.")
  var emptyFrameBurst = defaults.connection.emptyFrames.burst

  @Option(help: "Frames a second that bring nothing.")
  var emptyFramesPerSecond = defaults.connection.emptyFrames.perSecond

  @Option(help: "Frames at once with content for streams that are over.")
  var strayFrameBurst = defaults.connection.strayFrames.burst

  @Option(help: "Frames a second with content for streams that are over.")
  var strayFramesPerSecond = defaults.connection.strayFrames.perSecond

  @Option(help: "Seconds after its last call in which a connection counts as one with calls.")
  var activitySeconds = Int(defaults.connection.activityMemory.components.seconds)

  @Option(help: "Seconds after which a connection of HTTP/1 without a request is closed.")
  var webIdleSeconds = Int(defaults.webIdleTime.components.seconds)

  @Option(help: "Seconds in which a client sends the next 64 KiB of a body over HTTP/1.")
  var webBodySeconds = Int(defaults.webBodyTime.components.seconds)

  func apply(to limits: inout ServerLimits) {
    limits.connection.busyPings.burst = pingBurst
    limits.connection.busyPings.perSecond = pingsPerSecond
    limits.connection.idlePings.burst = idlePingBurst
    limits.connection.idlePings.perSecond = idlePingsPerSecond
    limits.connection.unsentPingAnswers = maxUnsentPingAnswers
    limits.connection.resets.burst = resetBurst
    limits.connection.resets.perSecond = resetsPerSecond
    limits.connection.emptyFrames.burst = emptyFrameBurst
    limits.connection.emptyFrames.perSecond = emptyFramesPerSecond
    limits.connection.strayFrames.burst = strayFrameBurst
    limits.connection.strayFrames.perSecond = strayFramesPerSecond
    limits.connection.activityMemory = .seconds(activitySeconds)
    limits.webIdleTime = .seconds(webIdleSeconds)
    limits.webBodyTime = .seconds(webBodySeconds)
  }

  func validate() throws {
    try LimitOptions.check([
      ("--ping-burst", pingBurst),
      ("--pings-per-second", pingsPerSecond),
      ("--idle-ping-burst", idlePingBurst),
      ("--idle-pings-per-second", idlePingsPerSecond),
      ("--max-unsent-ping-answers", maxUnsentPingAnswers),
      ("--reset-burst", resetBurst),
      ("--resets-per-second", resetsPerSecond),
      ("--empty-frame-burst", emptyFrameBurst),
      ("--empty-frames-per-second", emptyFramesPerSecond),
      ("--stray-frame-burst", strayFrameBurst),
      ("--stray-frames-per-second", strayFramesPerSecond),
      ("--activity-seconds", activitySeconds),
      ("--web-idle-seconds", webIdleSeconds),
      ("--web-body-seconds", webBodySeconds),
    ])
  }
}

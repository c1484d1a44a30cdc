// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses Hearth builds it. `package` access ends at a package's border, so the
// modules are taken in through symbolic links (Sources/HearthModel -> ../../Sources/HearthModel …) instead of as a
// dependency: benchmarks then reach what the tests reach.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
]
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let grpcCore = Target.Dependency.product(name: "GRPCCore", package: "grpc-swift-2")
let grpcProtobuf = Target.Dependency.product(name: "GRPCProtobuf", package: "grpc-swift-protobuf")
let grpcTransport = Target.Dependency.product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioCompression = Target.Dependency.product(name: "NIOHTTPCompression", package: "swift-nio-extras")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let sqlite = Target.Dependency.target(
  name: "CSQLite", condition: .when(platforms: [.linux, .android, .windows, .openbsd]))

let package = Package(
  name: "hearth-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
    .target(name: "HearthModel", swiftSettings: settings),
    .target(name: "HearthWire", dependencies: ["HearthModel", protobuf], swiftSettings: settings),
    .target(name: "HearthStore", dependencies: ["HearthModel", sqlite], swiftSettings: settings),
    .target(name: "HearthCache", dependencies: ["HearthStore", "HearthWire", "HearthModel"], swiftSettings: settings),
    .target(
      name: "HearthSync", dependencies: ["HearthCache", "HearthStore", "HearthModel"], swiftSettings: settings),

    .target(name: "CMeasure"),
    .target(name: "BenchmarkKit", dependencies: ["CMeasure", sqlite], swiftSettings: settings),
    .executableTarget(
      name: "EngineBenchmarks",
      dependencies: [
        "BenchmarkKit", "HearthSync", "HearthCache", "HearthStore", "HearthWire", "HearthModel", protobuf, sqlite,
      ], swiftSettings: settings),

    // Through the public API and gRPC. A product of its own, because its dependencies take minutes to build.
    .target(
      name: "HearthTransport",
      dependencies: ["HearthWire", "HearthModel", protobuf, grpcCore, grpcProtobuf, grpcTransport, logging],
      swiftSettings: settings),
    .target(
      name: "Hearth",
      dependencies: [
        "HearthSync", "HearthCache", "HearthStore", "HearthTransport", "HearthModel", logging, metrics, tracing,
      ],
      swiftSettings: settings),
    .target(
      name: "HearthRPC",
      dependencies: [
        "HearthModel", protobuf, nioCore, nioPosix, nioHTTP1, nioHTTP2, nioHPACK, nioCompression, logging,
      ],
      resources: [.embedInCode("Resources/server.protoset")],
      swiftSettings: settings),
    .target(
      name: "HearthServer",
      dependencies: [
        "HearthRPC", "HearthStore", "HearthWire", "HearthModel", crypto, protobuf, nioCore, logging, metrics,
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "ClientBenchmarks", dependencies: ["BenchmarkKit", "Hearth", "HearthServer", logging],
      swiftSettings: settings),

    // The server beside others.
    .executableTarget(
      name: "ServerBenchmarks",
      dependencies: [
        "BenchmarkKit", "HearthServer", grpcCore, grpcTransport, nioCore, nioPosix, nioHTTP2, nioHPACK, logging,
      ],
      swiftSettings: settings),
  ]
)

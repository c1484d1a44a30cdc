// swift-tools-version: 6.2
import PackageDescription

/// Continuous integration sets HEARTH_WARNINGS_AS_ERRORS so that our own code, and only ours, builds without warnings.
let warnings: [SwiftSetting] =
  Context.environment["HEARTH_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
/// HEARTH_FUZZ adds the programs of scripts/fuzz, and lets them see which way an input takes through our own code.
let isFuzzed = Context.environment["HEARTH_FUZZ"] != nil
let coverage: [SwiftSetting] = isFuzzed ? [.unsafeFlags(["-sanitize=fuzzer", "-parse-as-library"])] : []
let settings: [SwiftSetting] =
  [.enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility")] + warnings
  + coverage

/// Continuous integration sets HEARTH_OPTIMIZED_CORE: histories of the simulations, and plain evaluations that answers are compared with,
/// compute in these modules for most of their time. Assertions stay on.
let coreSettings: [SwiftSetting] =
  Context.environment["HEARTH_OPTIMIZED_CORE"] == nil
  ? settings
  : settings + [
    .unsafeFlags(["-O", "-wmo", "-num-threads", "2", "-assert-config", "Debug"], .when(configuration: .debug))
  ]

let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let grpcCore = Target.Dependency.product(name: "GRPCCore", package: "grpc-swift-2")
let grpcProtobuf = Target.Dependency.product(name: "GRPCProtobuf", package: "grpc-swift-protobuf")
let grpcTransport = Target.Dependency.product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioCompression = Target.Dependency.product(name: "NIOHTTPCompression", package: "swift-nio-extras")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let jwt = Target.Dependency.product(
  name: "JWTKit", package: "jwt-kit", condition: .when(traits: ["ServiceAccounts"]))
let certificates = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

func fuzzProgram(_ name: String, _ folder: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: ["FuzzSupport"] + dependencies, path: "Fuzz/\(folder)", swiftSettings: settings,
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])])
}

let fuzzTargets: [Target] =
  isFuzzed
  ? [
    .target(name: "FuzzSupport", path: "Fuzz/Support", swiftSettings: settings),
    fuzzProgram(
      "RequestFuzz", "Requests",
      ["HearthServer", "HearthWire", "HearthStore", "HearthModel", "TestSupport", protobuf, logging]),
    fuzzProgram("RegularExpressionFuzz", "RegularExpressions", ["HearthRE2"]),
    fuzzProgram("RuleFuzz", "Rules", ["HearthRules", "RulesSupport", "TestSupport"]),
    fuzzProgram(
      "TokenFuzz", "Tokens",
      [
        "HearthAuthentication", "HearthServer", "HearthRPC", "HearthModel", "TestSupport", logging,
        .product(name: "JWTKit", package: "jwt-kit"),
      ]),
  ] : []

let sqlite = Target.Dependency.target(
  name: "CSQLite", condition: .when(platforms: [.linux, .android, .windows, .openbsd]))
/// Present with the trait PostgreSQL only: users without libpq build everything else.
let postgres = Target.Dependency.target(name: "HearthPostgres", condition: .when(traits: ["PostgreSQL"]))
/// HEARTH_BENCHMARKS adds the programs of scripts/bench. Other builds do not include them.
let benchmarkTargets: [Target] =
  Context.environment["HEARTH_BENCHMARKS"] == nil
  ? []
  : [
    .target(name: "CMeasure", path: "Benchmarks/Sources/CMeasure"),
    .target(
      name: "BenchmarkKit", dependencies: ["CMeasure", sqlite], path: "Benchmarks/Sources/BenchmarkKit",
      swiftSettings: settings),
    .executableTarget(
      name: "EngineBenchmarks",
      dependencies: [
        "BenchmarkKit", "HearthSync", "HearthCache", "HearthStore", "HearthWire", "HearthModel", protobuf, sqlite,
      ],
      path: "Benchmarks/Sources/EngineBenchmarks", swiftSettings: settings),
    .executableTarget(
      name: "ClientBenchmarks", dependencies: ["BenchmarkKit", "Hearth", "HearthServer", logging],
      path: "Benchmarks/Sources/ClientBenchmarks", swiftSettings: settings),
    .executableTarget(
      name: "ServerBenchmarks",
      dependencies: [
        "BenchmarkKit", "HearthServer", "HearthAuthentication", "HearthRPC", "TestSupport", "PostgresSupport",
        grpcCore, grpcTransport, nioCore, nioPosix, nioHTTP2, nioHPACK, logging,
        .product(name: "JWTKit", package: "jwt-kit"),
      ],
      path: "Benchmarks/Sources/ServerBenchmarks", swiftSettings: settings),
  ]

/// HEARTH_EXAMPLES adds the example that needs further packages (Hummingbird), so that users of the library do not resolve them.
let hasWebService = Context.environment["HEARTH_EXAMPLES"] != nil
let webServicePackages: [Package.Dependency] =
  hasWebService
  ? [.package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"])]
  : []
let webServiceTargets: [Target] =
  hasWebService
  ? [
    .executableTarget(
      name: "WebServiceExample",
      dependencies: [
        "Hearth", .product(name: "Hummingbird", package: "hummingbird"), arguments, lifecycle, signals, logging,
      ],
      path: "Examples/WebService", exclude: ["README.md"], swiftSettings: settings)
  ] : []
let webServiceExample: [Target.Dependency] = hasWebService ? ["WebServiceExample"] : []

let package = Package(
  name: "hearth",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Hearth", targets: ["Hearth"]),
    .library(name: "HearthServer", targets: ["HearthServer"]),
    .library(name: "HearthTesting", targets: ["HearthTesting"]),
    .executable(name: "hearth", targets: ["HearthCommand"]),
  ],
  traits: [
    .trait(
      name: "ServiceAccounts",
      description: "Sign in with the key file of a Google service account (ServiceAccountCredentials)"),
    .trait(
      name: "PostgreSQL",
      description: "Several hearth serve over one PostgreSQL database; needs libpq (apt install libpq-dev)"),
    .default(enabledTraits: ["ServiceAccounts"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ] + webServicePackages,
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
    .systemLibrary(
      name: "CPostgres", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"]), .brew(["libpq"])]),

    .target(name: "HearthModel", swiftSettings: coreSettings),
    .target(name: "HearthRE2", swiftSettings: coreSettings),
    .target(name: "HearthHistory", swiftSettings: settings),
    .target(name: "HearthRules", dependencies: ["HearthRE2"], swiftSettings: coreSettings),
    .target(name: "HearthWire", dependencies: ["HearthModel", protobuf], swiftSettings: coreSettings),
    .target(name: "HearthPlan", dependencies: ["HearthModel"], swiftSettings: coreSettings),
    .target(name: "HearthStore", dependencies: ["HearthPlan", "HearthModel", sqlite], swiftSettings: coreSettings),
    .target(
      name: "HearthCache", dependencies: ["HearthStore", "HearthPlan", "HearthWire", "HearthModel"],
      swiftSettings: coreSettings),
    .target(
      name: "HearthSync", dependencies: ["HearthCache", "HearthStore", "HearthPlan", "HearthModel"],
      swiftSettings: coreSettings),
    .target(
      name: "HearthTransport",
      dependencies: [
        "HearthWire", "HearthModel", protobuf, grpcCore, grpcProtobuf, grpcTransport, nioCore, nioTLS, nioSSL, logging,
        jwt,
      ],
      swiftSettings: settings),
    .target(
      name: "Hearth",
      dependencies: [
        "HearthSync", "HearthCache", "HearthStore", "HearthPlan", "HearthTransport", "HearthModel", logging, metrics,
        tracing,
      ],
      swiftSettings: settings),
    .target(
      name: "HearthRPC",
      dependencies: [
        "HearthModel", protobuf, nioCore, nioEmbedded, nioPosix, nioHTTP1, nioHTTP2, nioHPACK, nioCompression, nioSSL,
        logging,
      ],
      resources: [.embedInCode("Resources/server.protoset")],
      swiftSettings: settings),
    .target(
      name: "HearthPostgres",
      dependencies: [.target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"]))], swiftSettings: settings),
    .target(
      name: "HearthServer",
      dependencies: [
        "HearthRPC", "HearthRules", "HearthStore", "HearthPlan", "HearthWire", "HearthModel", "HearthHistory", postgres,
        crypto, protobuf, nioCore, logging, metrics,
      ],
      swiftSettings: settings),
    .target(
      name: "HearthAuthentication",
      dependencies: [
        "HearthServer", "HearthRPC", "HearthModel", crypto, .product(name: "JWTKit", package: "jwt-kit"), logging,
      ],
      swiftSettings: settings),
    .target(
      name: "HearthTesting",
      dependencies: ["Hearth", "HearthServer", "HearthRPC", "HearthWire", "HearthModel", protobuf, logging],
      swiftSettings: settings),
    .target(
      name: "HearthData",
      dependencies: ["HearthTransport", "HearthModel", protobuf, logging], swiftSettings: settings),
    .executableTarget(
      name: "HearthCommand",
      dependencies: [
        "Hearth", "HearthServer", "HearthAuthentication", "HearthRules", "HearthRPC", "HearthData", "HearthCache",
        "HearthStore", "HearthPlan", "HearthModel", arguments, logging, metrics, nioCore, nioPosix, nioHTTP1, lifecycle,
        signals, crypto, certificates, asn1,
      ],
      resources: [.embedInCode("Resources/cities.json")],
      swiftSettings: settings),

    .target(
      name: "TestSupport", dependencies: ["HearthModel", logging], path: "Tests/Support/TestSupport",
      swiftSettings: coreSettings),
    .target(
      name: "EngineHarness", dependencies: ["HearthSync", "HearthCache", "HearthStore", "HearthModel"],
      path: "Tests/Support/EngineHarness", swiftSettings: coreSettings),
    .target(
      name: "RulesSupport", dependencies: ["HearthRules", "TestSupport"], path: "Tests/Support/RulesSupport",
      swiftSettings: coreSettings),
    .target(
      name: "RawHTTP2", dependencies: ["HearthWire", protobuf, nioCore, nioPosix, nioHPACK],
      path: "Tests/Support/RawHTTP2", swiftSettings: settings),
    .target(
      name: "InteropSupport",
      dependencies: [
        "Hearth", "HearthTransport", "HearthWire", "HearthModel", "TestSupport", grpcCore, grpcProtobuf, grpcTransport,
      ],
      path: "Tests/Support/InteropSupport", swiftSettings: settings),
    .target(
      name: "PostgresSupport", dependencies: [postgres, "TestSupport"], path: "Tests/Support/PostgresSupport",
      swiftSettings: settings),
    .target(
      name: "ClusterSupport", dependencies: ["HearthServer", "PostgresSupport", postgres, logging],
      path: "Tests/Support/ClusterSupport", swiftSettings: settings),
    .testTarget(
      name: "HearthModelTests", dependencies: ["HearthModel", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HearthRE2Tests", dependencies: ["HearthRE2", "TestSupport"],
      resources: [.copy("Fixtures/go_regexp.go")], swiftSettings: settings),
    .testTarget(
      name: "HearthRulesTests", dependencies: ["HearthRules", "RulesSupport", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HearthWireTests", dependencies: ["HearthWire", "HearthModel", protobuf], swiftSettings: settings),
    .testTarget(
      name: "HearthPlanTests", dependencies: ["HearthPlan", "HearthModel", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HearthStoreTests", dependencies: ["HearthStore", "HearthPlan", "HearthModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HearthCacheTests",
      dependencies: ["HearthCache", "HearthStore", "HearthPlan", "HearthModel", "TestSupport"],
      exclude: ["Fixtures"], swiftSettings: settings),
    .testTarget(
      name: "HearthSyncTests",
      dependencies: [
        "HearthSync", "HearthCache", "HearthStore", "HearthPlan", "HearthModel", "EngineHarness", "TestSupport", crypto,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "SpecTests",
      dependencies: ["HearthSync", "HearthCache", "HearthStore", "HearthModel", "EngineHarness", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "SimulationTests",
      dependencies: ["HearthSync", "HearthCache", "HearthStore", "HearthModel", "EngineHarness", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ConformanceTests",
      dependencies: [
        "Hearth", "HearthSync", "HearthCache", "HearthStore", "HearthWire", "HearthModel", "EngineHarness", protobuf,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthTransportTests",
      dependencies: [
        "HearthTransport", "HearthWire", "HearthModel", "TestSupport", protobuf, grpcCore, grpcTransport, jwt,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthRPCTests",
      dependencies: [
        "HearthRPC", "HearthModel", "TestSupport", nioCore, nioEmbedded, nioPosix, nioSSL, nioHTTP2, nioHPACK, logging,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthPostgresTests", dependencies: [postgres, "PostgresSupport", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HearthServerTests",
      dependencies: [
        "HearthServer", "HearthRPC", "HearthRules", "HearthTransport", "HearthWire", "HearthStore", "HearthPlan",
        "HearthModel", "HearthHistory", "TestSupport", "RawHTTP2", "PostgresSupport", postgres, protobuf, grpcCore,
        grpcProtobuf,
        grpcTransport, nioCore, nioEmbedded, nioPosix, nioHTTP1, nioHTTP2, nioHPACK, nioCompression, logging, metrics,
        metricsTestKit,
      ], swiftSettings: settings),
    .testTarget(
      name: "ServerQueryTests",
      dependencies: [
        "HearthServer", "HearthRPC", "HearthTransport", "HearthWire", "HearthStore", "HearthPlan", "HearthModel",
        "HearthHistory", "TestSupport", "PostgresSupport", postgres, protobuf, grpcCore, grpcProtobuf, grpcTransport,
        nioCore, nioPosix,
        logging, metrics,
      ], swiftSettings: settings),
    .testTarget(
      name: "HearthAuthenticationTests",
      dependencies: [
        "HearthAuthentication", "HearthServer", "HearthRPC", "HearthTransport", "HearthWire", "HearthModel",
        "TestSupport", .product(name: "JWTKit", package: "jwt-kit"), grpcCore, grpcTransport, nioCore, nioSSL, logging,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthCommandTests",
      dependencies: [
        "Hearth", "HearthCommand", "HearthServer", "HearthTesting", "TestSupport", arguments, logging, metrics, nioCore,
        nioPosix,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthTests",
      dependencies: [
        "Hearth", "HearthServer", "HearthRPC", "HearthTesting", "HearthTransport", "HearthSync", "HearthCache",
        "HearthStore", "HearthPlan",
        "HearthWire", "HearthModel", "TestSupport", protobuf, grpcCore, grpcTransport, nioCore, nioPosix, nioSSL, jwt,
        logging, metrics, metricsTestKit, tracing, inMemoryTracing,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "BoundsTests",
      dependencies: [
        "HearthCommand", "HearthServer", "HearthRPC", "HearthWire", "HearthModel", "TestSupport", "RawHTTP2", protobuf,
        nioCore, nioPosix, nioHPACK,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthDataTests",
      dependencies: ["HearthData", "HearthServer", "HearthTransport", "HearthModel", "TestSupport", logging],
      swiftSettings: settings),
    .testTarget(
      name: "ApiSurfaceTests", dependencies: ["Hearth", "HearthServer", logging], swiftSettings: warnings),
    .testTarget(
      name: "ApiSurfaceSwift5Tests", dependencies: ["Hearth"], swiftSettings: warnings + [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "NotesExample", dependencies: ["Hearth"], path: "Examples/Notes", swiftSettings: settings),
    .executableTarget(
      name: "ToDoExample", dependencies: ["Hearth", arguments, logging], path: "Examples/ToDo",
      exclude: ["README.md"], swiftSettings: settings),
    .executableTarget(
      name: "GatewayExample", dependencies: ["Hearth", arguments], path: "Examples/Gateway", exclude: ["README.md"],
      swiftSettings: settings),
    .executableTarget(
      name: "CrashWriter", dependencies: ["Hearth"], path: "Tests/Support/CrashWriter", swiftSettings: settings),
    .executableTarget(
      name: "CacheSharer", dependencies: ["Hearth"], path: "Tests/Support/CacheSharer", swiftSettings: settings),
    .testTarget(
      name: "InteropTests",
      dependencies: [
        "Hearth", "HearthServer", "HearthRPC", "HearthCommand", "HearthData", "HearthTransport", "HearthSync",
        "HearthCache", "HearthStore", "HearthWire", "HearthModel", "HearthHistory", "HearthRules", "EngineHarness",
        "InteropSupport",
        "RulesSupport", "TestSupport", "CrashWriter", "CacheSharer", "NotesExample", "ToDoExample", "GatewayExample",
        "ClusterSupport", "PostgresSupport", grpcCore, grpcProtobuf, grpcTransport, logging,
      ] + webServiceExample,
      resources: [
        .copy("Resources/python_client.py"), .copy("Resources/python_lists.py"), .copy("Resources/compare_requests.py"),
        .copy("Resources/emulator_cells.py"),
        .copy("Resources/js_lists.mjs"), .copy("Resources/rules_unit_testing.mjs"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "StressTests",
      dependencies: [
        "Hearth", "HearthServer", "HearthCache", "HearthModel", "InteropSupport", "TestSupport", "CacheSharer",
        grpcCore, grpcTransport, logging,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LoadTests",
      dependencies: [
        "Hearth", "HearthAuthentication", "HearthRPC", "HearthServer", "ClusterSupport", "InteropSupport",
        "TestSupport", logging,
      ],
      resources: [
        .copy("Resources/google_python_suite.py"), .copy("Resources/google_python_plugin.py"),
        .copy("Resources/go_load.go"), .copy("Resources/js_calls.mjs"), .copy("Resources/google_js_steps.mjs"),
        .copy("Resources/google_js_calls.mjs"), .copy("Resources/google_js_listening.mjs"),
        .copy("Resources/google_js_soak.mjs"), .copy("Resources/google_js_soak_client.mjs"),
        .copy("Resources/google_js_soak_data.mjs"),
      ],
      swiftSettings: settings),
  ] + webServiceTargets + fuzzTargets + benchmarkTargets
)

import Testing

/// The suites of articles whose programs configure the default app. There is one in the process, so they take turns.
@Suite("Articles on the default app", .serialized, .timeLimit(.minutes(2)))
struct DefaultAppArticles {}

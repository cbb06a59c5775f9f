// Which way dependencies point. docs: packages ← services; routes → service → store inside a feature.
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const database = ['^node_modules/.*/(kysely|pg)/', '(^|/)node_modules/(kysely|pg)(/|$)'];
const service = '^services/[^/]+/src/';
const testCode = '^(((packages|services)/[^/]+|charts)/(generate|test)|e2e)/';
const tests = '\\.test\\.(ts|mjs)$';

module.exports = {
  forbidden: [
    forbid('no-cycles', 'Two files that need each other are one file, or hide a third.', {}, { circular: true }),
    forbid('resolvable', 'Every import leads to a file or a declared package.', {}, { couldNotResolve: true }),
    forbid(
      'packages-import-no-service',
      'Packages are below services.',
      { path: '^packages/' },
      { path: '^services/' },
    ),
    forbid(
      'services-are-apart',
      'Services meet over the network; only local mode puts them into one process.',
      { path: '^services/([^/]+)/', pathNot: ['^services/local/', tests] },
      { path: '^services/', pathNot: '^services/$1/' },
    ),
    forbid(
      'services-know-no-cluster-tests',
      'Charts, end-to-end tests, benchmarks and evaluations stand above everything else.',
      { path: '^(packages|services)/' },
      { path: '^(bench|charts|e2e|evals)/' },
    ),
    forbid(
      'testkit-is-for-tests',
      'Programs do not import test helpers.',
      {
        pathNot: [
          '^packages/(testkit|hook-conformance)/',
          '^(e2e|evals|hack|bench/src/(controller|realtime))/',
          testCode,
          tests,
        ],
      },
      { path: '^packages/(testkit|hook-conformance)/' },
    ),
    forbid(
      'dev-servers-are-for-tests-and-local-mode',
      'A service in production does not start its own servers.',
      {
        path: '^(packages|services)/',
        pathNot: ['^packages/(dev-servers|testkit)/', '^services/local/', testCode, tests],
      },
      { path: '^packages/dev-servers/' },
    ),
    forbid(
      'dev-servers-are-below-testkit',
      'Local mode installs dev-servers without test helpers.',
      { path: '^packages/dev-servers/' },
      { path: '^packages/testkit/' },
    ),
    forbid(
      'production-has-its-packages',
      'An image holds the production dependencies of its service and no others.',
      // The generator of the definition of UserSwarm runs in a checkout. Apps provide the peer dependencies of a published package.
      { path: '^(packages|services)/[^/]+/src/', pathNot: [tests, '^packages/contract/src/userswarm/crd-file\\.ts$'] },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    ),
    forbid(
      'test-code-is-for-tests',
      'What lies in a test folder serves tests alone.',
      { pathNot: [testCode, tests] },
      { path: testCode },
    ),
    forbid(
      'packages-import-each-other-by-name',
      'A relative import that leaves a package bypasses its exports.',
      // The server runs from an image that contains only the files that it imports.
      { path: '^((?:packages|services)/[^/]+|charts|e2e|bench|evals)/', pathNot: '^e2e/images/' },
      {
        path: '^(?:(?:packages|services)/[^/]+|charts|e2e|bench|evals|hack)/',
        pathNot: '^$1/',
        dependencyTypes: ['local'],
      },
    ),
    forbid(
      'store-is-the-bottom',
      'A store is SQL: it knows neither the rules nor HTTP.',
      { path: `${service}.*\\.store\\.ts$` },
      { path: `${service}.*\\.(service|routes)\\.ts$` },
    ),
    forbid(
      'service-knows-no-http',
      'Rules can be called from anywhere, not only by a route.',
      { path: `${service}.*\\.service\\.ts$` },
      { path: [`${service}.*\\.routes\\.ts$`, '(^|/)node_modules/express/'] },
    ),
    forbid(
      'routes-leave-sql-alone',
      'A route makes one call to a service.',
      { path: `${service}.*\\.routes\\.ts$` },
      { path: [`${service}.*\\.store\\.ts$`, ...database] },
    ),
    forbid(
      'outgoing-calls-use-one-client',
      'Calls that leave the platform use the proxy of the company: @uswarm/service-kit/outgoing. The listed files only call other services of the platform, or are command-line clients of it.',
      {
        path: '^(packages|services)/',
        pathNot: [
          '^packages/service-kit/src/outgoing/',
          '^packages/(cli|client-conformance|dev-servers|hook-conformance|kube-client|testkit)/',
          '^services/model-gateway/src/model-call-client\\.ts$',
          '^services/realtime-gateway/src/orchestrator-client\\.ts$',
          '^services/uswarm-controller/src/hook/',
          testCode,
          tests,
        ],
      },
      {
        path: '(^|/)node_modules/(undici|axios|got|ky|node-fetch|superagent|hpagent|[a-z-]*proxy-agent)(/|$)',
        dependencyTypesNot: ['type-only'],
      },
    ),
    forbid(
      'only-the-orchestrator-has-a-database',
      'The orchestrator is the only writer of Postgres.',
      {
        path: '^services/(agent-runtime|searxng-client|realtime-gateway|model-gateway|uswarm-controller)/',
        pathNot: tests,
      },
      { path: database },
    ),
    {
      name: 'bypass-stays-out-of-production',
      comment: 'The production entry point must not be able to reach the end-to-end bypass.',
      severity: 'error',
      from: { path: '^services/orchestrator/src/main\\.ts$' },
      to: { path: '^services/orchestrator/src/accounts/auth/e2e-bypass\\.ts$', reachable: true },
    },
  ],
  options: {
    // Type imports count: a rule that only sees what is left at run time would miss half of a layer.
    parser: 'tsc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^(packages|services)/[^/]+/dist/', '^(bench|evals)/dist/', '/src/gen/'] },
    // Workspace packages resolve to their sources, as in the tests.
    enhancedResolveOptions: {
      conditionNames: ['uswarm-source', 'types', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};

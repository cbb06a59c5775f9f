import { availableParallelism } from 'node:os';
import { FURTHER_PATTERNS } from './hack/jest/further-tests.mjs';

// `npm test` without arguments. A selected file always runs.
const ignored = process.env.USWARM_CORE_TESTS === '1' ? FURTHER_PATTERNS : [];

// Two projects: `unit` needs nothing, `int` uses the real servers that packages/dev-servers starts.
const shared = {
  // Not in the temporary folder, because each run has its own one.
  cacheDirectory: '<rootDir>/.cache/jest',
  testEnvironment: '<rootDir>/hack/jest/environment.mjs',
  setupFilesAfterEnv: ['<rootDir>/hack/jest/retries.mjs'],
  resolver: '<rootDir>/hack/jest/resolver.mjs',
  // Workspace packages resolve to their sources, so a test never sees a stale build.
  testEnvironmentOptions: { customExportConditions: ['uswarm-source', 'node', 'node-addons'] },
  roots: ['packages', 'services', 'hack', 'charts', 'bench', 'evals'].map((folder) => `<rootDir>/${folder}`),
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      // The mutation check of turns changes one file while it is transformed.
      process.env.USWARM_MUTATION ? '<rootDir>/hack/mutations/transform.mjs' : '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
    '^.+\\.tsx$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          target: 'es2024',
          transform: { react: { runtime: 'automatic' } },
        },
        module: { type: 'es6' },
      },
    ],
  },
};

// Runs that judge the requirement ledger also record which tests name which rows (docs/requirements.md).
const ledger = process.env.USWARM_LEDGER_FILE
  ? { reporters: ['default', '<rootDir>/packages/testkit/dist/ledger/reporter.js'] }
  : {};

export default {
  ...ledger,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['**/*.test.ts', '**/*.test.mjs'],
      testPathIgnorePatterns: ['\\.int\\.test\\.ts$', '/node_modules/', ...ignored],
    },
    {
      ...shared,
      displayName: 'int',
      testMatch: ['**/*.int.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...ignored],
      globalSetup: '<rootDir>/hack/jest/servers.mjs',
      globalTeardown: '<rootDir>/hack/jest/stop-servers.mjs',
    },
  ],
  testSequencer: '<rootDir>/hack/jest/sequencer.mjs',
  // Most tests wait for servers, so more workers than cores are busy. A number: jest takes 200% for 200 workers.
  maxWorkers: availableParallelism() * 2,
  // A worker keeps what the modules of finished files took; above this it is replaced before it runs out of memory.
  workerIdleMemoryLimit: '1500MB',
  // Ends what hangs. The first run on a machine builds programs meanwhile, for minutes.
  testTimeout: 900_000,
};

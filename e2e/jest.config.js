// Tests on a real cluster; `npm run e2e` sets the variables that they read. The projects run
// in sequence: tests with their own controller must end before the release is installed.
import { dirname } from 'node:path';
import base from '../jest.config.js';

const { displayName: _name, testMatch: _match, testPathIgnorePatterns: _ignored, ...shared } = base.projects[0];
const { projects: _projects, ...global } = base;
const rootDir = dirname(import.meta.dirname);

const project = { ...shared, rootDir, roots: ['<rootDir>/e2e'] };
const platform = {
  ...project,
  globalSetup: '<rootDir>/e2e/global-setup.mjs',
  globalTeardown: '<rootDir>/e2e/global-teardown.mjs',
};
const serial = '\\.serial\\.e2e\\.test\\.ts$';

export default {
  ...global,
  // The cluster uses the same cores.
  maxWorkers: '100%',
  rootDir,
  projects: [
    // Needs the cluster alone.
    {
      ...project,
      displayName: 'cluster',
      testMatch: ['<rootDir>/e2e/**/*.e2e.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/e2e/(nodes|platform|scale|uninstall)/'],
    },
    // Also needs the cluster alone. It loads the cluster, so nothing else runs with it.
    { ...project, displayName: 'scale', testMatch: ['<rootDir>/e2e/scale/**/*.e2e.test.ts'] },
    // Uses the installed release; files run concurrently, each with its own objects.
    {
      ...platform,
      displayName: 'platform',
      testMatch: ['<rootDir>/e2e/platform/**/*.e2e.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', serial],
    },
    // Takes parts of the release down: one file at a time, and only if that is allowed.
    {
      ...platform,
      displayName: 'disruptive',
      testMatch: ['<rootDir>/e2e/platform/**/*.serial.e2e.test.ts'],
    },
    // Needs a cluster with three nodes, which it drains and stops.
    { ...platform, displayName: 'nodes', testMatch: ['<rootDir>/e2e/nodes/**/*.e2e.test.ts'] },
    // Removes the release and installs it again: last, because its data is deleted with it.
    {
      ...platform,
      displayName: 'uninstall',
      testMatch: ['<rootDir>/e2e/uninstall/**/*.e2e.test.ts'],
    },
  ],
  // Ends tests that hang; each wait has its own limit and reports what it waited for.
  testTimeout: 1_200_000,
};

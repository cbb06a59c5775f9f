// Tests on a real cluster; `npm run e2e` sets the variables that they read. Projects, run one
// after the other: whoever brings a controller of their own must be done before the release comes.
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
  rootDir,
  projects: [
    // Needs the cluster alone.
    {
      ...project,
      displayName: 'cluster',
      testMatch: ['<rootDir>/e2e/**/*.e2e.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/e2e/(platform|scale|uninstall)/'],
    },
    // The same, with so much to do for the cluster that nothing else may be measured beside it.
    { ...project, displayName: 'scale', testMatch: ['<rootDir>/e2e/scale/**/*.e2e.test.ts'] },
    // Uses the installed release; files run side by side, each with its own objects.
    {
      ...platform,
      displayName: 'platform',
      testMatch: ['<rootDir>/e2e/platform/**/*.e2e.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', serial],
    },
    // Takes parts of the release down, so one at a time and only where that is allowed.
    {
      ...platform,
      displayName: 'disruptive',
      testMatch: ['<rootDir>/e2e/platform/**/*.serial.e2e.test.ts'],
    },
    // Removes the release and installs it again: last, for what it had stored goes with it.
    {
      ...platform,
      displayName: 'uninstall',
      testMatch: ['<rootDir>/e2e/uninstall/**/*.e2e.test.ts'],
    },
  ],
  // Ends what hangs: each wait has a limit of its own, and says what it waited for.
  testTimeout: 1_200_000,
};

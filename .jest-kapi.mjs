import base from './e2e/jest.config.js';
const { projects, ...rest } = base;
const { globalSetup, globalTeardown, ...p } = projects[2];
export default { ...rest, maxWorkers: 1, projects: [p] };

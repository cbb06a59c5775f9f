import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import config from '../../../e2e/jest.config.js';
import { repositoryRoot } from '../environment.mjs';
import { PROJECTS, selectProjects } from './tests.mjs';

// Links in node_modules lead from package to package.
const testFiles = globSync('**/*.e2e.test.ts', {
  cwd: join(repositoryRoot, 'e2e'),
  exclude: (name) => name === 'node_modules',
}).map((path) => join(repositoryRoot, 'e2e', path));
const selectedFiles = ({ patterns }) =>
  testFiles
    .filter((file) => patterns.some((pattern) => new RegExp(pattern).test(file)))
    .map((file) => file.slice(repositoryRoot.length + 1));
const names = (projects) => projects.map(({ project }) => project);

describe('the selection of e2e tests', () => {
  const onOneNode = PROJECTS.filter(({ nodes }) => nodes === undefined);

  it('the projects are those of the jest configuration', () => {
    expect(names(PROJECTS)).toEqual(config.projects.map(({ displayName }) => displayName));
  });

  it('selectProjects returns the core by default, whose files all exist', () => {
    const selected = selectProjects({ patterns: [], all: false });
    expect(names(selected)).toEqual(['platform', 'disruptive', 'uninstall']);
    for (const project of selected) expect(selectedFiles(project).toSorted()).toEqual(project.core.toSorted());
  });

  it('each core file is listed in the project that runs it', () => {
    const projectOf = (file) => {
      if (file.startsWith('e2e/uninstall/')) return 'uninstall';
      return file.endsWith('.serial.e2e.test.ts') ? 'disruptive' : 'platform';
    };
    for (const { project, core } of PROJECTS) expect(core.filter((file) => projectOf(file) !== project)).toEqual([]);
  });

  it('selectProjects returns every file of every project with --all', () => {
    const selected = selectProjects({ patterns: [], all: true });
    expect(selected.map(({ project, patterns }) => ({ project, patterns }))).toEqual(
      onOneNode.map(({ project }) => ({ project, patterns: [] })),
    );
  });

  it('selectProjects returns the files that match the patterns, in every project', () => {
    const selected = selectProjects({ patterns: ['crd', 'phases'], all: false });
    expect(selected.map(({ patterns }) => patterns)).toEqual(onOneNode.map(() => ['crd', 'phases']));
  });

  it('selectProjects returns only the tests of nodes for a cluster with three nodes', () => {
    expect(names(selectProjects({ patterns: [], all: false, nodes: 3 }))).toEqual(['nodes']);
    expect(names(onOneNode)).not.toContain('nodes');
  });
});

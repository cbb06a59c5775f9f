import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { artifactsFolder } from './artifacts.mjs';
import { containersOf } from './diagnostics.mjs';
import { counts, testVariables } from './tests.mjs';

describe('the artifacts of a run on a cluster', () => {
  let root;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uswarm-artifacts-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('artifactsFolder creates a folder per run and keeps the newest five', () => {
    mkdirSync(join(root, 'cluster'));
    const at = (second) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    for (let second = 1; second <= 7; second += 1) artifactsFolder(root, at(second));
    expect(readdirSync(root).toSorted()).toEqual([
      ...[3, 4, 5, 6, 7].map((second) => `2026-01-01T00-00-0${second}`),
      'cluster',
    ]);
  });

  it('containersOf returns every container, and whether it has a previous instance', () => {
    const running = { state: { running: {} } };
    const status = {
      initContainerStatuses: [{ name: 'migrate', state: { terminated: {} } }],
      containerStatuses: [
        { name: 'app', restartCount: 2, ...running },
        { name: 'waiting', state: { waiting: {} }, lastState: { terminated: {} }, restartCount: 1 },
        { name: 'never', state: { waiting: {} } },
      ],
    };
    const items = [{ metadata: { namespace: 'n', name: 'p' }, status }, { metadata: { namespace: 'n', name: 'new' } }];
    expect(containersOf({ items }).map(({ container, restarted }) => [container, restarted])).toEqual([
      ['migrate', false],
      ['app', true],
      ['waiting', true],
    ]);
  });

  it('counts pending and todo tests as skipped', () => {
    expect(counts({ numTotalTests: 10, numPendingTests: 2, numTodoTests: 1 })).toEqual({ ran: 7, skipped: 3 });
  });
});

describe('the variables of tests', () => {
  const run = { nodes: 1, imagesFile: '/a/images.json', previousChart: '/p', artifacts: '/a', disruptive: false };

  it('testVariables name the cluster and omit missing features', () => {
    const cluster = { kubeconfig: '/k', context: 'c', node: undefined, edgePort: undefined, auditLog: undefined };
    expect(testVariables({ ...run, cluster })).toEqual({
      E2E_KUBECONFIG: '/k',
      E2E_CONTEXT: 'c',
      E2E_IMAGES_FILE: '/a/images.json',
      E2E_PREVIOUS_CHART: '/p',
      E2E_DISRUPTIVE: '0',
      E2E_ARTIFACTS: '/a',
      E2E_NODES: '1',
    });
  });

  it('testVariables name the edge, the audit log and the ledger if they exist', () => {
    const cluster = { kubeconfig: '/k', context: 'c', edgePort: '4711', auditLog: '/audit.log' };
    expect(testVariables({ ...run, cluster, ledger: '/l', disruptive: true })).toMatchObject({
      E2E_EDGE_PORT: '4711',
      E2E_AUDIT_LOG: '/audit.log',
      E2E_DISRUPTIVE: '1',
      USWARM_LEDGER_FILE: '/l',
    });
  });
});

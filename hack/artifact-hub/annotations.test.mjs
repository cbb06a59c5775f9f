import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UserSwarmSpec } from '../../packages/contract/dist/userswarm/index.js';
import { kubeTools } from '../../packages/testkit/dist/index.js';
import { parse } from 'yaml';
import { packChart } from '../run/chart.mjs';
import { repositoryRoot } from '../run/environment.mjs';
import { changesOf, imagesOf } from './annotations.mjs';

const REGISTRY = 'registry.test/team';
const read = (path) => readFileSync(join(repositoryRoot, path), 'utf8');

describe('a packaged chart on Artifact Hub', () => {
  let folder;
  let chart;
  let annotation;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-artifact-hub-'));
    const [file] = await packChart({ out: folder, registry: REGISTRY });
    chart = file;
    const { annotations } = parse(execFileSync('tar', ['-xzOf', file, 'uswarm/Chart.yaml'], { encoding: 'utf8' }));
    annotation = (name) => annotations[`artifacthub.io/${name}`];
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has a change per entry of the changelog, each with a kind that Artifact Hub knows', () => {
    const section = read('CHANGELOG.md').split(/^## /m)[1];
    const changes = parse(annotation('changes'));
    expect(changes).toHaveLength(section.match(/^- /gm).length);
    const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'];
    expect(changes.filter(({ kind, description }) => !kinds.includes(kind) || description.length < 10)).toEqual([]);
  });

  it('has exactly the images of the rendered chart, with the platforms of own images', async () => {
    const { helm } = await kubeTools();
    const values = join(repositoryRoot, 'charts/uswarm/ci/everything-values.yaml');
    const settings = `images.registry=${REGISTRY},images.mirror=`;
    const rendered = execFileSync(helm, ['template', 'uswarm', chart, '-f', values, '--set', settings], {
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
    });
    const images = parse(annotation('images'));
    expect(images.map(({ image }) => image)).toEqual(imagesOf(rendered, '').map(({ image }) => image));
    const own = images.filter(({ platforms }) => platforms !== undefined).map(({ name }) => name);
    expect(own).toEqual(expect.arrayContaining(['agent-runtime', 'orchestrator', 'uswarm-controller']));
    for (const { image } of images) expect(rendered).toContain(image);
  });

  it('shows the custom resource with a valid example', () => {
    expect(parse(annotation('crds'))).toEqual([
      expect.objectContaining({ kind: 'UserSwarm', version: 'v1alpha1', name: 'userswarms.uswarm.dev' }),
    ]);
    const [example] = parse(annotation('crdsExamples'));
    expect(example).toMatchObject({ apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm' });
    expect(UserSwarmSpec.safeParse(example.spec).success).toBe(true);
  });

  it('has a category, a licence and a capability level that Artifact Hub knows', () => {
    expect(annotation('category')).toBe('ai-machine-learning');
    expect(annotation('license')).toBe('Apache-2.0');
    const levels = ['Basic Install', 'Seamless Upgrades', 'Full Lifecycle', 'Deep Insights', 'Auto Pilot'];
    expect(levels).toContain(annotation('operatorCapabilities'));
    expect([annotation('operator'), annotation('prerelease')]).toEqual(['true', 'false']);
  });

  it('has metadata of its repository as a template', () => {
    const { repositoryID, owners } = parse(read('deploy/artifact-hub/artifacthub-repo.yml'));
    expect(repositoryID).toMatch(/^[\da-f-]{36}$/);
    expect(owners).toEqual([{ name: expect.any(String), email: expect.stringContaining('@') }]);
  });
});

describe('changes for Artifact Hub', () => {
  const log = (body) => `# Changelog\n\n## Unreleased (0.4)\n\n${body}\n## 0.3.0 - 2026-11-21\n\n### Fixed\n\n- Old.\n`;

  it('are first sentences without Markdown', () => {
    const body =
      '### Added\n\n- `a.b` in [docs](docs/x.md#y) of 0.2 works\n  **well**. More.\n\n### Renamed\n\n- A is B\n';
    expect(changesOf(log(body), '0.4.0')).toEqual([
      { kind: 'added', description: 'a.b in docs of 0.2 works well.' },
      { kind: 'changed', description: 'A is B' },
    ]);
  });

  it('are those of the released version', () => {
    expect(changesOf(log('### Added\n\n- New.\n'), '0.3.0')).toEqual([{ kind: 'fixed', description: 'Old.' }]);
  });

  it('refuse a heading without a kind', () => {
    expect(() => changesOf(log('### Curious\n\n- x\n'), '0.4.0')).toThrow(/no kind of change for "Curious"/);
  });
});

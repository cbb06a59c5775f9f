import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { containersOf, helm, ofKind, podTemplates, render, repositoryFile } from './rendering.js';

const read = async (path: string): Promise<unknown> => parse(await readFile(repositoryFile(path), 'utf8'));

describe('the example values', () => {
  it.each(['kind', 'production'])('of deploy/%s pass a strict lint', async (name) => {
    const files = [repositoryFile(`deploy/${name}/values.yaml`)];
    expect(await helm(['lint', '--strict'], {}, { files })).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  it('for kind need nothing but images of this machine', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/kind/values.yaml')] });
    const own = podTemplates(manifests).flatMap((pod) => containersOf(pod).map(({ image }) => image));
    expect(own.filter((image) => image.includes('/uswarm/'))).not.toEqual([]);
    expect(own.filter((image) => image.includes('/uswarm/') && !image.startsWith('localhost/'))).toEqual([]);
    expect(ofKind(manifests, 'Secret').map(({ metadata }) => metadata.name)).toContain('uswarm-evaluation');
  });

  it('for production keep data and secrets outside, and survive the loss of a node', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const names = ofKind(manifests, 'Deployment').map(({ metadata }) => metadata.name);
    expect(names.filter((name) => /postgres|valkey/.test(name))).toEqual([]);
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    const single = ofKind(manifests, 'Deployment').filter(({ spec }) => spec.replicas < 2);
    expect(single.map(({ metadata }) => metadata.name)).toEqual(['searxng']);
    const variables = podTemplates(manifests).flatMap((pod) =>
      containersOf(pod).flatMap(({ env = [] }) => env.map(({ name }) => name)),
    );
    expect(variables).not.toContain('E2E_TOKEN');
    expect(variables).toContain('SVC_SPACES_SECRET');
  });

  it('name Secrets that deploy/README.md shows how to make, with their keys', async () => {
    const manifests = await render({}, { files: [repositoryFile('deploy/production/values.yaml')] });
    const readme = await readFile(repositoryFile('deploy/README.md'), 'utf8');
    const commands = readme
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => line.includes('create secret generic'));
    const references = podTemplates(manifests).flatMap((pod) =>
      containersOf(pod).flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])),
    );
    expect(references).not.toEqual([]);
    for (const { name, key } of references) {
      expect(commands).toContainEqual(
        expect.stringMatching(new RegExp(`secret generic ${name} .*--from-\\w+=${key}=`)),
      );
    }
  });
});

describe('skaffold.yaml', () => {
  interface Skaffold {
    build: { artifacts: { image: string; custom: { buildCommand: string; dependencies: { paths: string[] } } }[] };
    deploy: {
      helm: { releases: { chartPath: string; valuesFiles: string[]; setValueTemplates: Record<string, string> }[] };
    };
  }

  it('builds every image of the chart, and sets its tag', async () => {
    const { build, deploy } = (await read('skaffold.yaml')) as Skaffold;
    const [release] = deploy.helm.releases;
    const tags = Object.entries(release!.setValueTemplates);
    const values = (await read('charts/uswarm/values.yaml')) as Record<string, { image: { repository: string } }>;
    const ours = Object.entries(values).filter(([, value]) => value?.image?.repository.startsWith('uswarm/'));
    const expected = ours.map(([component, { image }]) => [
      `${component}.image.tag`,
      `{{.IMAGE_TAG_localhost_${image.repository.replaceAll(/[-/]/g, '_')}}}`,
    ]);
    expect(tags.toSorted()).toEqual(expected.toSorted());
    const repositories = ours.map(([, { image }]) => `localhost/${image.repository}`);
    expect(build.artifacts.map(({ image }) => image).toSorted()).toEqual(repositories.toSorted());
    for (const { image, custom } of build.artifacts) {
      expect(custom.buildCommand).toContain(`--only ${image.split('/').at(-1)}`);
    }
  });

  it('points at files that are there, with values that the chart takes', async () => {
    const { deploy } = (await read('skaffold.yaml')) as Skaffold;
    const [release] = deploy.helm.releases;
    const files = release!.valuesFiles.map(repositoryFile);
    expect(release!.chartPath).toBe('charts/uswarm');
    await expect(render({}, { files })).resolves.not.toEqual([]);
  });
});

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { buildImage, docker, inspectImage } from './docker.mjs';

let folder;
const path = process.env.PATH;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-docker-'));
  process.env.PATH = `${folder}:${path}`;
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true });
});

/** A docker program that records its arguments and prints the output for the first argument. */
function pretendDocker(answers) {
  const cases = Object.entries(answers).map(([command, script]) => `${command}) ${script};;`);
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\necho "$*" >> ${log}\ncase $1 in ${cases.join('\n')}\nesac\n`);
  chmodSync(join(folder, 'docker'), 0o755);
  return () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
}

const image = (content) =>
  `echo 'WARNING: of the client' >&2; echo '${JSON.stringify({ Id: 'sha256:1', Size: 7, Config: { Labels: { 'dev.uswarm.content': content } } })}'`;
const NONE = 'echo "Error: No such image: x" >&2; exit 1';
const plan = {
  ref: 'r:1',
  dockerfile: 'Dockerfile',
  entries: [{ path: 'a', layer: 'app', text: 'x' }],
  report: () => {},
};

describe('the image build', () => {
  it('buildImage does not rebuild an image with equal content', async () => {
    const calls = pretendDocker({ image: image('same') });
    expect(await buildImage({ ...plan, content: 'same' })).toBe(false);
    expect(calls()).toHaveLength(1);
  });

  it('buildImage builds changed content from a folder that is deleted afterwards', async () => {
    const calls = pretendDocker({ image: image('old'), build: `for last; do :; done; cp $last/app/a ${folder}/seen` });
    expect(await buildImage({ ...plan, content: 'new', args: { TITLE: 't' }, platform: 'linux/arm64' })).toBe(true);
    const [, build] = calls();
    const expected = '--file Dockerfile --tag r:1 --platform linux/arm64 --build-arg TITLE=t --build-arg CONTENT=new ';
    expect(build).toContain(`build ${expected}`);
    expect(existsSync(build.split(' ').at(-1))).toBe(false);
    expect(readFileSync(join(folder, 'seen'), 'utf8')).toBe('x');
  });

  it('buildImage reports the reason of a failed build', async () => {
    pretendDocker({ image: NONE, build: 'echo "no space left on device" >&2; exit 1' });
    await expect(buildImage({ ...plan, content: 'new' })).rejects.toThrow(
      'no space left on device\n\nThe image r:1 could not be built.',
    );
  });

  it('inspectImage returns undefined for a missing image, and reports an unreachable Docker', async () => {
    pretendDocker({ image: NONE });
    expect(await inspectImage('x')).toBeUndefined();
    pretendDocker({ image: 'exit 1', version: 'echo "Cannot connect to the Docker daemon at unix:///x" >&2; exit 1' });
    await expect(inspectImage('x')).rejects.toThrow('Docker is unreachable: start it, or set DOCKER_HOST.');
  });
});

it('reports a missing docker program', async () => {
  process.env.PATH = folder;
  await expect(docker(['version'])).rejects.toThrow('docker is not in PATH');
});

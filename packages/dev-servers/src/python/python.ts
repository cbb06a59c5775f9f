import { spawnSync } from 'node:child_process';
import type { MissingPart } from '../missing-part.js';

const candidates = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python'];

export interface Python {
  command: string;
  version: readonly [major: number, minor: number];
}

function versionOf(command: string): Python | undefined {
  const script = 'import sys; print(*sys.version_info[:2])';
  const { status, stdout } = spawnSync(command, ['-c', script], { encoding: 'utf8', timeout: 10_000 });
  const match = /^(\d+) (\d+)\s*$/.exec(status === 0 ? stdout : '');
  return match === null ? undefined : { command, version: [Number(match[1]), Number(match[2])] };
}

/** The first Python on PATH with at least version `minimum` and pip. */
export function findPython([major, minor]: readonly [number, number]): Python | undefined {
  for (const command of candidates) {
    const python = versionOf(command);
    if (python === undefined) continue;
    const newEnough = python.version[0] === major && python.version[1] >= minor;
    if (newEnough && hasPip(command)) return python;
  }
  return undefined;
}

function hasPip(command: string): boolean {
  return spawnSync(command, ['-m', 'pip', '--version'], { stdio: 'ignore', timeout: 30_000 }).status === 0;
}

export function missingPython(minimum: readonly [number, number]): MissingPart | undefined {
  if (findPython(minimum) !== undefined) return undefined;
  const version = minimum.join('.');
  return {
    reason: `This machine has no Python ${version} or newer with pip.`,
    install: `Install python3 (${version} or newer) and python3-pip.`,
  };
}

import { join } from 'node:path';
import { unpackNpmPackage } from '../run/npm-package.mjs';
import { NODE_VERSION } from './platforms.mjs';

/**
 * Unpacks the official Node.js program for a platform from npm into the user's cache, after a check of its integrity.
 *
 * @param {import('./platforms.mjs').Platform} platform
 * @returns {Promise<{ program: string, licence: string }>} paths
 * @throws RunError if npm fails, or returns another content
 */
export async function nodeProgram({ package: name, integrity, program }) {
  const folder = await unpackNpmPackage({ name, version: NODE_VERSION, integrity });
  return { program: join(folder, program), licence: join(folder, 'LICENSE') };
}

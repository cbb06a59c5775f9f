import { readFileSync } from 'node:fs';
import { DockerfileParser } from 'dockerfile-ast';

/**
 * Image settings in a Dockerfile. `layers` are folders in the build context, in order, whose content is copied to `workdir`.
 *
 * @typedef {object} ImageConfig
 * @property {string} workdir
 * @property {string} user
 * @property {string[]} entrypoint
 * @property {string[]} cmd
 * @property {Record<string, string>} env
 * @property {Record<string, string>} labels
 * @property {string[]} layers
 */

/**
 * Evaluates a Dockerfile that only copies folders and sets metadata.
 *
 * @param {string} file
 * @param {Record<string, string>} args by name of the `ARG`
 * @returns {ImageConfig}
 * @throws Error for an instruction that needs a container
 */
export function imageConfig(file, args) {
  const values = { ...args };
  const expand = (text) => text.replaceAll(/\$\{(\w+)\}/g, (_all, name) => values[name] ?? '');
  const config = { workdir: '/', user: '', entrypoint: [], cmd: [], env: {}, labels: {}, layers: [] };
  const pairs = (instruction) =>
    Object.fromEntries(instruction.getProperties().map((each) => [each.getName(), expand(each.getValue() ?? '')]));
  const json = (instruction) => JSON.parse(instruction.getArgumentsContent());
  const set = {
    FROM: () => {},
    ARG: (instruction) => {
      const { name, value } = argumentOf(instruction);
      values[name] ??= value ?? '';
    },
    ENV: (instruction) => Object.assign(config.env, pairs(instruction)),
    LABEL: (instruction) => Object.assign(config.labels, pairs(instruction)),
    WORKDIR: (instruction) => (config.workdir = instruction.getArgumentsContent()),
    USER: (instruction) => (config.user = instruction.getArgumentsContent()),
    ENTRYPOINT: (instruction) => (config.entrypoint = json(instruction)),
    CMD: (instruction) => (config.cmd = json(instruction)),
    COPY: (instruction) => {
      const [from, to] = instruction.getArguments().map((each) => each.getValue());
      if (to !== './') throw new Error(`COPY to ${to} is not supported: only to the working folder.`);
      config.layers.push(from.replace(/\/$/, ''));
    },
  };
  for (const instruction of DockerfileParser.parse(readFileSync(file, 'utf8')).getInstructions()) {
    const keyword = instruction.getKeyword();
    if (!(keyword in set))
      throw new Error(`${keyword} in the Dockerfile is not supported: images are built without a container.`);
    set[keyword](instruction);
  }
  return config;
}

function argumentOf(instruction) {
  const property = instruction.getProperty();
  return { name: property.getName(), value: property.getValue() };
}

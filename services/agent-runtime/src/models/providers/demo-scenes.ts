import { AGENT_SCENES } from './demo-agent-scenes.js';
import { CONTENT_SCENES } from './demo-content-scenes.js';
import { answer, type Scene } from './demo-scene.js';

const HELP: Scene = {
  request: 'show me everything',
  shows: 'this list, like “help”',
  words:
    /^(?:help|(?:show|list)(?: me)? (?:everything|all(?: of it)?|what you can (?:do|show)(?: me)?)|what can you (?:do|show)(?: me)?)$/i,
  play: () => {
    const lines = SCENES.map(({ request, shows }) => `- “${request}”: ${shows}`);
    return answer(`I am the demo model. Write one of these:\n\n${lines.join('\n')}`);
  },
};

/** Everything that the demo model shows on request. The first match is played. */
export const SCENES: readonly Scene[] = [HELP, ...CONTENT_SCENES, ...AGENT_SCENES];

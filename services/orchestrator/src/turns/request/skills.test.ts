import type { AgentPrompt } from '@uswarm/contract';
import { describe, expect, it } from '@jest/globals';
import { instructionsOf } from './skills.js';

const prompt = (content: string, name = 'Style'): AgentPrompt => ({
  id: name,
  name,
  description: `When ${name}`,
  content,
});
const LONG = 'x'.repeat(2 * 1024 + 1);
const SKILLS = ['other.1', 'skills.1'];

describe('the instructions of an agent', () => {
  it('contain long prompts as skills with name, description and content', () => {
    const { prompts, skillDocuments } = instructionsOf([prompt('Be kind.'), prompt(LONG, 'Letters')], SKILLS);
    expect(prompts).toEqual(['Be kind.']);
    expect(skillDocuments).toMatchObject([{ name: 'Letters', description: 'When Letters', content: LONG }]);
  });

  it('contain a prompt of exactly 2 KiB as a prompt, counted in bytes', () => {
    expect(instructionsOf([prompt(LONG.slice(1))], SKILLS).skillDocuments).toEqual([]);
    expect(instructionsOf([prompt('ä'.repeat(1_025))], SKILLS).prompts).toEqual([]);
  });

  it('contain all prompts in their order for a runtime without skills', () => {
    expect(instructionsOf([prompt(LONG), prompt('Be kind.')], [])).toEqual({
      prompts: [LONG, 'Be kind.'],
      skillDocuments: [],
    });
  });

  it('have unique names of skills', () => {
    const { skillDocuments } = instructionsOf([prompt(LONG), prompt(LONG), prompt(LONG, 'Style (2)')], SKILLS);
    expect(skillDocuments.map(({ name }) => name)).toEqual(['Style', 'Style (2)', 'Style (2) (2)']);
  });
});

import { ACTION_CARD_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { afterCard, CARD } from './demo-card.js';
import { workflowReport } from './demo-report.js';
import { answer, call, type DemoMove, LABEL, type Scene } from './demo-scene.js';
import { SCENES } from './demo-scenes.js';
import { asksForSearch, DEMO_NOTICE, searchAnswer, topicOf } from './demo-search.js';
import { type DemoRequest, readSituation, type Situation } from './demo-situation.js';

const HINT = 'Write “show me everything” for a list of what the demo model can show.';

const asksForOptions = (text: string): boolean => /\b(?:options|choices|action[ _-]card)\b/i.test(text);

/** Searches, offers a card, or repeats the question. */
function reply({ question, isTask, offered, results }: Situation): DemoMove {
  const result = results.at(-1);
  if (result !== undefined)
    return result.tool === ACTION_CARD_TOOL ? afterCard(result) : { answer: searchAnswer(result) };
  const wanted = asksForSearch(question);
  if (wanted && offered.includes(WEB_SEARCH_TOOL)) return call(WEB_SEARCH_TOOL, { query: topicOf(question) });
  if (asksForOptions(question) && offered.includes(ACTION_CARD_TOOL)) return call(ACTION_CARD_TOOL, CARD);
  const note = wanted ? `\n\n${WEB_SEARCH_TOOL} is not available to this agent, so nothing was searched.` : '';
  if (isTask) return answer(`I worked on the task “${question}” and it is done.${note}`);
  return { answer: `${LABEL} You asked: ${question}${note}\n\n${HINT}\n\n${DEMO_NOTICE}` };
}

function play(scene: Scene, match: RegExpExecArray, situation: Situation): DemoMove {
  const { tools = [] } = scene;
  const missing = tools.filter((tool) => !situation.offered.includes(tool));
  if (missing.length === 0) return scene.play(situation, match);
  const other = scene.without?.(situation, match);
  if (other !== undefined) return other;
  const verb = missing.length === 1 ? 'is' : 'are';
  return answer(`I cannot show this, because ${missing.join(', ')} ${verb} not available to this agent.`);
}

/** Depends only on the request, so equal requests get equal answers. */
export function demoMove(request: DemoRequest): DemoMove {
  const situation = readSituation(request);
  const report = workflowReport(situation.question);
  if (report !== undefined) return report;
  for (const scene of SCENES) {
    const match = scene.words.exec(situation.words);
    if (match !== null) return play(scene, match, situation);
  }
  return reply(situation);
}

import { answer, type DemoMove, LABEL } from './demo-scene.js';
import type { ReadResult } from './demo-situation.js';

/** Arguments for the demo model's card. */
export const CARD = {
  title: 'How should we continue?',
  description: `${LABEL} Choose one of these options.`,
  actions: [
    { label: 'Continue', style: 'primary' },
    { label: 'Start over', style: 'secondary' },
    { label: 'Cancel', style: 'destructive' },
  ],
};

export const afterCard = ({ text, failed }: ReadResult): DemoMove => answer(failed ? text : 'Please choose.');

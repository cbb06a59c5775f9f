/** Skills as models read them, by the ids that shipped agents have. */
const MEANINGS: Readonly<Record<string, string>> = {
  analysis: 'comparing options and data',
  coding: 'writing and correcting code',
  fact_check: 'checking facts',
  news: 'current events',
  planning: 'planning work',
  sources: 'judging and citing sources',
  summarization: 'summarizing long texts',
  translation: 'translating',
  web_search: 'web research',
  writing: 'writing and editing',
};

/** A skill in words. Other skills are the user's own words, or ids whose words are joined. */
export const skillMeaning = (skill: string): string => MEANINGS[skill] ?? skill.replaceAll('_', ' ');

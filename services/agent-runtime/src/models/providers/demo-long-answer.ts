const SENTENCES = [
  'The leaves are picked by hand in spring.',
  'Heat stops the oxidation, so the leaves stay green.',
  'Water of 70 to 80 degrees keeps the taste mild.',
  'A second infusion needs less time than the first.',
  'Store the leaves in a dry, dark tin.',
];

const paragraph = (start: number): string =>
  Array.from({ length: 8 }, (_, index) => SENTENCES[(start + index) % SENTENCES.length]).join(' ');

const section = (title: string, index: number): string =>
  [`## ${title}`, paragraph(index), `- **First:** warm the pot\n- *Second:* add the leaves\n- Third: wait`].join(
    '\n\n',
  );

/** About 600 words of Markdown. */
export const LONG_ANSWER = [
  'A long answer about *green tea*, in Markdown:',
  '# Green tea',
  ...['Harvest', 'Preparation', 'Taste', 'History', 'Health', 'Storage'].map(section),
  '| tea | water | minutes |\n| --- | ---: | ---: |\n| Sencha | 75 °C | 2 |\n| Gyokuro | 60 °C | 3 |\n| Matcha | 80 °C | 0 |',
  '```ts\nconst cups = 6;\nconsole.log(`${cups * 2} grams of leaves`);\n```',
  '> A quotation, a [link](https://tea.example/green) and some emoji: 🍵 🌱',
].join('\n\n');

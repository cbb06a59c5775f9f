/** A fact that a user told agents, and questions about it in other words. */
export interface MemoryQuestion {
  memory: string;
  question: string;
}

const ENGLISH: [memory: string, question: string][] = [
  ['Dentist: Dr. Weber, Lindenstrasse 4, next check-up in March', 'When do I have to go to the dentist again?'],
  ['Allergic to peanuts and penicillin', 'Which allergies should the doctor know about?'],
  ['The wifi password of the summer house is on the fridge', 'How do guests get into the wifi at the summer house?'],
  ['Drives a blue Volvo V60, licence plate B-AD 1815', 'What is the licence plate of my car?'],
  ['Sister Charlotte turns 40 on 12 June and collects old maps', 'What could I give Charlotte for her birthday?'],
  ['Runs the Berlin half marathon every April', 'Help me plan training for the half marathon'],
  ['Takes the 7:42 train to work on weekdays', 'Is my usual train to work delayed?'],
  ['Prefers window seats on flights and never flies before 8', 'Book me a flight to Lisbon with the seat I like'],
  ['Home insurance is with Allianz, policy 88-1203', 'Who is my home insurance with?'],
  ['The cat is called Babbage and eats no fish', 'What food may I buy for Babbage?'],
  ['Landlord is Mr. Novak, reachable by phone after 18:00', 'The heating is broken, how do I reach the landlord?'],
  ['Gym membership at FitHaus ends on 30 November', 'Should I renew my gym membership?'],
  ['Learns Spanish with Lucia on Tuesday evenings', 'Can I meet friends on Tuesday evening or is there Spanish?'],
  ['Shoe size is 41, wide fit', 'Which size of shoes do I need?'],
  ['The quarterly report for Acme is due on the 5th working day', 'When is the Acme report due?'],
  ['Team stand-up is at 9:15 in room Turing', 'In which room is the stand-up?'],
  ['Prefers TypeScript over Python for new services', 'Which language should we use for the new service?'],
  ['Coffee order: oat flat white without sugar', 'Order a coffee for me'],
  ['Wedding anniversary is on 8 July, restaurant Nobelhart is a favourite', 'Reserve a table for our anniversary'],
  ['Does not eat pork and dislikes coriander', 'Suggest a dinner I would actually eat, maybe pork?'],
  ['The tax adviser is Ms. Okafor at Steuerhaus', 'Please write to my tax adviser'],
  ['Passport expires in September 2027', 'Is my passport still valid for the trip?'],
  ['The garage code is changed every month by the janitor Mr. Lee', 'Who changes the code of the garage?'],
  ['Savings goal: 12,000 euros for a sailing boat', 'How much do I want to save for the boat?'],
  ['Mother lives in Porto and calls every Sunday', 'When does my mother call?'],
  ['Reads science fiction, favourite author is Ursula Le Guin', 'Recommend a book by an author I like'],
  ['The router is behind the bookshelf in the hallway', 'Where is the router?'],
  ['Physiotherapy for the left knee with Ms. Brandt on Thursdays', 'My knee hurts, when is physiotherapy?'],
  [
    'Project Analytical Engine has the budget code AE-1843',
    'What is the budget code of the Analytical Engine project?',
  ],
  ['Uses the calendar in 24 hour format, weeks start on Monday', 'On which day do weeks start in my calendar?'],
  ['Electricity provider is Lichtblick, meter number 5591-22', 'I need the meter number for electricity'],
  ['Plays the cello in the Friday orchestra rehearsal', 'Is there orchestra on Friday?'],
  ['Donates 20 euros a month to the lifeboat association', 'To which association do I donate?'],
  ['The bike was serviced at Radwerk in May', 'Where was my bike serviced last time?'],
  ['Nephew Tom studies chemistry in Leeds', 'What does Tom study?'],
  ['Emergency contact is neighbour Fatima, 4th floor', 'Who is the emergency contact?'],
  ['Vaccinated against yellow fever in 2021', 'Do I need a yellow fever vaccination for Kenya?'],
  ['Sleeps badly after red wine', 'Why do I sleep so badly lately?'],
  ['The company laptop is a ThinkPad with asset tag LT-0422', 'IT asks for the asset tag of my laptop'],
  ['Speaks at the compiler conference in Gothenburg in October', 'Prepare slides for the conference in October'],
];

const GERMAN: [memory: string, question: string][] = [
  ['Der Hausarzt ist Dr. Keller in der Bergmannstraße', 'Wie heißt mein Hausarzt?'],
  ['Die Müllabfuhr kommt jeden zweiten Mittwoch', 'Wann kommt die Müllabfuhr?'],
  ['Oma Hilde mag Marzipan und keine Nelken', 'Welche Süßigkeiten mag Oma Hilde?'],
  ['Der Mietvertrag läuft bis Ende 2028', 'Wie lange läuft unser Mietvertrag noch?'],
  ['Schwimmkurs der Kinder ist samstags um zehn', 'Um wie viel Uhr ist der Schwimmkurs?'],
  ['Das Fahrrad hat die Rahmennummer WX 7731', 'Die Polizei fragt nach der Rahmennummer vom Fahrrad'],
  ['Verträgt keine Laktose', 'Ist in dem Rezept etwas mit Laktose, das ich nicht vertrage?'],
  ['Die Steuererklärung macht Frau Özdemir', 'Wer macht unsere Steuererklärung?'],
  ['Der Schlüssel zum Keller liegt bei Familie Brandt', 'Wo liegt der Kellerschlüssel?'],
  ['Im Urlaub geht es meistens an die Ostsee nach Rügen', 'Schlag einen Urlaub vor, aber nicht wieder Rügen'],
];

const JAPANESE: [memory: string, question: string][] = [
  ['歯医者は田中先生、次の予約は四月', '次の歯医者の予約はいつですか？'],
  ['甲殻類アレルギーがある', 'アレルギーに気をつけて夕食を提案して'],
  ['毎朝六時に犬の散歩をする', '犬の散歩は何時ですか？'],
  ['母の誕生日は五月三日', '母の誕生日を教えて'],
  ['新幹線では窓側の席を好む', '新幹線の席を予約して'],
  ['日本語のメールは敬語で書く', 'このメールを日本語で書いて、敬語は必要？'],
  ['駐車場の番号は二十七番', '駐車場は何番でしたか？'],
  ['火曜日の夜はヨガ教室', 'ヨガ教室は何曜日？'],
  ['電気料金は東京ガスで払っている', '電気料金はどこに払っていますか？'],
  ['祖父は北海道で牧場を経営している', '北海道の祖父に手紙を書きたい'],
];

export const MEMORY_QUESTIONS: MemoryQuestion[] = [...ENGLISH, ...GERMAN, ...JAPANESE].map(([memory, question]) => ({
  memory,
  question,
}));

const PEOPLE = ['Ben', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hiro', 'Ines', 'Jonas', 'Kim', 'Lena'];
const NOTES = [
  (who: string) => `${who} prefers short mails and calls back in the afternoon`,
  (who: string) => `Meeting with ${who} about the roadmap was moved to next week`,
  (who: string) => `${who} is responsible for the billing module`,
  (who: string) => `Asked ${who} to review the contract with the supplier`,
  (who: string) => `${who} recommended the restaurant next to the station`,
  (who: string) => `The slides of ${who} are in the shared folder of the sales team`,
  (who: string) => `${who} is on holiday for two weeks and has no laptop with them`,
  (who: string) => `Lent ${who} the book about distributed systems`,
  (who: string) => `${who} likes jazz and plays tennis on Mondays`,
  (who: string) => `The phone number of ${who} changed in spring`,
  (who: string) => `${who} wohnt jetzt in Hamburg und arbeitet am Wochenende`,
  (who: string) => `${who} braucht die Unterlagen bis Freitag um zwölf Uhr`,
  (who: string) => `${who}さんは営業部で働いていて、火曜日は会議がある`,
  (who: string) => `${who} keeps the keys of the meeting room on Fridays`,
  (who: string) => `Owes ${who} 15 euros for the train ticket`,
  (who: string) => `${who} is allergic to cats and brings their own food`,
  (who: string) => `The birthday of ${who} is in October`,
  (who: string) => `${who} reported a bug in the calendar of the mobile app`,
  (who: string) => `Plan: visit ${who} in summer and go sailing`,
  (who: string) => `${who} wants weekly reports on the budget of the project`,
];

/** Further memories about other people, in three languages. */
export function otherMemories(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const note = NOTES[index % NOTES.length]!;
    const round = Math.floor(index / NOTES.length);
    const who = `${PEOPLE[round % PEOPLE.length]!} ${String.fromCodePoint(65 + (round % 26))}${round}`;
    return note(who);
  });
}

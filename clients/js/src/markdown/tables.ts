/** Tables that clients/js/tables.py writes. */

// The characters that an element's name can have, and which of them it can't begin with.
export const LETTERS = `
  61-7A C0-D6 D8-F6 F8-131 134-13E 141-148 14A-17E 180-1C3 1CD-1F0 1F4-1F5 1FA-217 250-2A8 2BB-2C1 386 388-38A 38C
  38E-3A1 3A3-3CE 3D0-3D6 3DA 3DC 3DE 3E0 3E2-3F3 401-40C 40E-44F 451-45C 45E-481 490-4C4 4C7-4C8 4CB-4CC 4D0-4EB
  4EE-4F5 4F8-4F9 531-556 559 561-586 5D0-5EA 5F0-5F2 621-63A 641-64A 671-6B7 6BA-6BE 6C0-6CE 6D0-6D3 6D5 6E5-6E6
  905-939 93D 958-961 985-98C 98F-990 993-9A8 9AA-9B0 9B2 9B6-9B9 9DC-9DD 9DF-9E1 9F0-9F1 A05-A0A A0F-A10 A13-A28
  A2A-A30 A32-A33 A35-A36 A38-A39 A59-A5C A5E A72-A74 A85-A8B A8D A8F-A91 A93-AA8 AAA-AB0 AB2-AB3 AB5-AB9 ABD AE0
  B05-B0C B0F-B10 B13-B28 B2A-B30 B32-B33 B36-B39 B3D B5C-B5D B5F-B61 B85-B8A B8E-B90 B92-B95 B99-B9A B9C B9E-B9F
  BA3-BA4 BA8-BAA BAE-BB5 BB7-BB9 C05-C0C C0E-C10 C12-C28 C2A-C33 C35-C39 C60-C61 C85-C8C C8E-C90 C92-CA8 CAA-CB3
  CB5-CB9 CDE CE0-CE1 D05-D0C D0E-D10 D12-D28 D2A-D39 D60-D61 E01-E2E E30 E32-E33 E40-E45 E81-E82 E84 E87-E88 E8A E8D
  E94-E97 E99-E9F EA1-EA3 EA5 EA7 EAA-EAB EAD-EAE EB0 EB2-EB3 EBD EC0-EC4 F40-F47 F49-F69 10A0-10C5 10D0-10F6 1100
  1102-1103 1105-1107 1109 110B-110C 110E-1112 113C 113E 1140 114C 114E 1150 1154-1155 1159 115F-1161 1163 1165 1167
  1169 116D-116E 1172-1173 1175 119E 11A8 11AB 11AE-11AF 11B7-11B8 11BA 11BC-11C2 11EB 11F0 11F9 1E00-1E9B 1EA0-1EF9
  1F00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4
  1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2126 212A-212B 2180-2182 3007 3021-3029 3041-3094
  30A1-30FA 3105-312C 4E00-9FA5 AC00-D7A3
`;
export const DIGITS_AND_EXTENDERS = `
  30-39 2D0-2D1 640 660-669 6F0-6F9 966-96F 9E6-9EF A66-A6F AE6-AEF B66-B6F B83 BE7-BEF C66-C6F CE6-CEF D66-D6F E46
  E50-E59 EC6 ED0-ED9 F20-F29 F88-F8B 3005 3031-3035 309D-309E 30FC-30FE
`;

// HTML's entities: those of characters that a name keeps or a link's address is judged by, and the rest.
export const CHARACTERS = `
  AElig=C6 Aacute=C1 Abreve=102 Acirc=C2 Acy=410 Agrave=C0 Alpha=391 Amacr=100 Aogon=104 Aring=C5 Atilde=C3 Auml=C4
  Bcy=411 Beta=392 CHcy=427 Cacute=106 Ccaron=10C Ccedil=C7 Ccirc=108 Cdot=10A Chi=3A7 DJcy=402 DScy=405 DZcy=40F
  Dcaron=10E Dcy=414 Delta=394 Dstrok=110 ENG=14A ETH=D0 Eacute=C9 Ecaron=11A Ecirc=CA Ecy=42D Edot=116 Egrave=C8
  Emacr=112 Eogon=118 Epsilon=395 Eta=397 Euml=CB Fcy=424 GJcy=403 Gamma=393 Gbreve=11E Gcedil=122 Gcirc=11C Gcy=413
  Gdot=120 HARDcy=42A Hcirc=124 Hstrok=126 IEcy=415 IOcy=401 Iacute=CD Icirc=CE Icy=418 Idot=130 Igrave=CC Imacr=12A
  Iogon=12E Iota=399 Itilde=128 Iukcy=406 Iuml=CF Jcirc=134 Jcy=419 Jsercy=408 Jukcy=404 KHcy=425 KJcy=40C Kappa=39A
  Kcedil=136 Kcy=41A LJcy=409 Lacute=139 Lambda=39B Lcaron=13D Lcedil=13B Lcy=41B Lstrok=141 Mcy=41C MediumSpace=205F
  Mu=39C NJcy=40A Nacute=143 Ncaron=147 Ncedil=145 Ncy=41D NewLine=A NonBreakingSpace=A0 Ntilde=D1 Nu=39D OElig=152
  Oacute=D3 Ocirc=D4 Ocy=41E Odblac=150 Ograve=D2 Omacr=14C Omega=3A9 Omicron=39F Oslash=D8 Otilde=D5 Ouml=D6 Pcy=41F
  Phi=3A6 Pi=3A0 Psi=3A8 Racute=154 Rcaron=158 Rcedil=156 Rcy=420 Rho=3A1 SHCHcy=429 SHcy=428 SOFTcy=42C Sacute=15A
  Scaron=160 Scedil=15E Scirc=15C Scy=421 Sigma=3A3 THORN=DE TSHcy=40B TScy=426 Tab=9 Tau=3A4 Tcaron=164 Tcedil=162
  Tcy=422 Theta=398 ThickSpace=205F+200A ThinSpace=2009 Tstrok=166 Uacute=DA Ubrcy=40E Ubreve=16C Ucirc=DB Ucy=423
  Udblac=170 Ugrave=D9 Umacr=16A Uogon=172 Upsi=3D2 Upsilon=3A5 Uring=16E Utilde=168 Uuml=DC Vcy=412
  VeryThinSpace=200A Wcirc=174 Xi=39E YAcy=42F YIcy=407 YUcy=42E Yacute=DD Ycirc=176 Ycy=42B Yuml=178 ZHcy=416
  Zacute=179 Zcaron=17D Zcy=417 Zdot=17B Zeta=396 aacute=E1 abreve=103 acirc=E2 acy=430 aelig=E6 agrave=E0 alpha=3B1
  amacr=101 angst=C5 aogon=105 aring=E5 atilde=E3 auml=E4 bcy=431 beta=3B2 cacute=107 ccaron=10D ccedil=E7 ccirc=109
  cdot=10B chcy=447 chi=3C7 colon=3A dcaron=10F dcy=434 delta=3B4 djcy=452 dscy=455 dstrok=111 dzcy=45F eacute=E9
  ecaron=11B ecirc=EA ecy=44D edot=117 egrave=E8 emacr=113 emsp=2003 emsp13=2004 emsp14=2005 eng=14B ensp=2002
  eogon=119 epsi=3B5 epsilon=3B5 eta=3B7 eth=F0 euml=EB fcy=444 fjlig=66+6A fnof=192 gacute=1F5 gamma=3B3 gbreve=11F
  gcirc=11D gcy=433 gdot=121 gjcy=453 hairsp=200A hardcy=44A hcirc=125 hstrok=127 iacute=ED icirc=EE icy=438 iecy=435
  igrave=EC imacr=12B imath=131 imped=1B5 inodot=131 iocy=451 iogon=12F iota=3B9 itilde=129 iukcy=456 iuml=EF
  jcirc=135 jcy=439 jsercy=458 jukcy=454 kappa=3BA kappav=3F0 kcedil=137 kcy=43A kgreen=138 khcy=445 kjcy=45C
  lacute=13A lambda=3BB lcaron=13E lcedil=13C lcy=43B ljcy=459 lstrok=142 mcy=43C mu=3BC nacute=144 nbsp=A0 ncaron=148
  ncedil=146 ncy=43D njcy=45A ntilde=F1 nu=3BD numsp=2007 oacute=F3 ocirc=F4 ocy=43E odblac=151 oelig=153 ograve=F2
  ohm=3A9 omacr=14D omega=3C9 omicron=3BF oslash=F8 otilde=F5 ouml=F6 pcy=43F phi=3C6 phiv=3D5 pi=3C0 piv=3D6 psi=3C8
  puncsp=2008 racute=155 rcaron=159 rcedil=157 rcy=440 rho=3C1 rhov=3F1 sacute=15B scaron=161 scedil=15F scirc=15D
  scy=441 semi=3B shchcy=449 shcy=448 sigma=3C3 sigmaf=3C2 sigmav=3C2 softcy=44C sol=2F straightphi=3D5 szlig=DF
  tau=3C4 tcaron=165 tcedil=163 tcy=442 theta=3B8 thetasym=3D1 thetav=3D1 thinsp=2009 thorn=FE tscy=446 tshcy=45B
  tstrok=167 uacute=FA ubrcy=45E ubreve=16D ucirc=FB ucy=443 udblac=171 ugrave=F9 umacr=16B uogon=173 upsi=3C5
  upsih=3D2 upsilon=3C5 uring=16F utilde=169 uuml=FC varkappa=3F0 varphi=3D5 varpi=3D6 varrho=3F1 varsigma=3C2
  vartheta=3D1 vcy=432 wcirc=175 xi=3BE yacute=FD yacy=44F ycirc=177 ycy=44B yicy=457 yucy=44E yuml=FF zacute=17A
  zcaron=17E zcy=437 zdot=17C zeta=3B6 zhcy=436
`;
export const SEPARATORS = `
  AMP Afr And Aopf ApplyFunction Ascr Assign Backslash Barv Barwed Because Bernoullis Bfr Bopf Breve Bscr Bumpeq COPY
  Cap CapitalDifferentialD Cayleys Cconint Cedilla CenterDot Cfr CircleDot CircleMinus CirclePlus CircleTimes
  ClockwiseContourIntegral CloseCurlyDoubleQuote CloseCurlyQuote Colon Colone Congruent Conint ContourIntegral Copf
  Coproduct CounterClockwiseContourIntegral Cross Cscr Cup CupCap DD DDotrahd Dagger Darr Dashv Del Dfr
  DiacriticalAcute DiacriticalDot DiacriticalDoubleAcute DiacriticalGrave DiacriticalTilde Diamond DifferentialD Dopf
  Dot DotDot DotEqual DoubleContourIntegral DoubleDot DoubleDownArrow DoubleLeftArrow DoubleLeftRightArrow
  DoubleLeftTee DoubleLongLeftArrow DoubleLongLeftRightArrow DoubleLongRightArrow DoubleRightArrow DoubleRightTee
  DoubleUpArrow DoubleUpDownArrow DoubleVerticalBar DownArrow DownArrowBar DownArrowUpArrow DownBreve
  DownLeftRightVector DownLeftTeeVector DownLeftVector DownLeftVectorBar DownRightTeeVector DownRightVector
  DownRightVectorBar DownTee DownTeeArrow Downarrow Dscr Efr Element EmptySmallSquare EmptyVerySmallSquare Eopf Equal
  EqualTilde Equilibrium Escr Esim Exists ExponentialE Ffr FilledSmallSquare FilledVerySmallSquare Fopf ForAll
  Fouriertrf Fscr GT Gammad Gfr Gg Gopf GreaterEqual GreaterEqualLess GreaterFullEqual GreaterGreater GreaterLess
  GreaterSlantEqual GreaterTilde Gscr Gt Hacek Hat Hfr HilbertSpace Hopf HorizontalLine Hscr HumpDownHump HumpEqual
  IJlig Ifr Im ImaginaryI Implies Int Integral Intersection InvisibleComma InvisibleTimes Iopf Iscr Jfr Jopf Jscr Kfr
  Kopf Kscr LT Lang Laplacetrf Larr LeftAngleBracket LeftArrow LeftArrowBar LeftArrowRightArrow LeftCeiling
  LeftDoubleBracket LeftDownTeeVector LeftDownVector LeftDownVectorBar LeftFloor LeftRightArrow LeftRightVector
  LeftTee LeftTeeArrow LeftTeeVector LeftTriangle LeftTriangleBar LeftTriangleEqual LeftUpDownVector LeftUpTeeVector
  LeftUpVector LeftUpVectorBar LeftVector LeftVectorBar Leftarrow Leftrightarrow LessEqualGreater LessFullEqual
  LessGreater LessLess LessSlantEqual LessTilde Lfr Ll Lleftarrow Lmidot LongLeftArrow LongLeftRightArrow
  LongRightArrow Longleftarrow Longleftrightarrow Longrightarrow Lopf LowerLeftArrow LowerRightArrow Lscr Lsh Lt Map
  Mellintrf Mfr MinusPlus Mopf Mscr NegativeMediumSpace NegativeThickSpace NegativeThinSpace NegativeVeryThinSpace
  NestedGreaterGreater NestedLessLess Nfr NoBreak Nopf Not NotCongruent NotCupCap NotDoubleVerticalBar NotElement
  NotEqual NotEqualTilde NotExists NotGreater NotGreaterEqual NotGreaterFullEqual NotGreaterGreater NotGreaterLess
  NotGreaterSlantEqual NotGreaterTilde NotHumpDownHump NotHumpEqual NotLeftTriangle NotLeftTriangleBar
  NotLeftTriangleEqual NotLess NotLessEqual NotLessGreater NotLessLess NotLessSlantEqual NotLessTilde
  NotNestedGreaterGreater NotNestedLessLess NotPrecedes NotPrecedesEqual NotPrecedesSlantEqual NotReverseElement
  NotRightTriangle NotRightTriangleBar NotRightTriangleEqual NotSquareSubset NotSquareSubsetEqual NotSquareSuperset
  NotSquareSupersetEqual NotSubset NotSubsetEqual NotSucceeds NotSucceedsEqual NotSucceedsSlantEqual NotSucceedsTilde
  NotSuperset NotSupersetEqual NotTilde NotTildeEqual NotTildeFullEqual NotTildeTilde NotVerticalBar Nscr Ofr Oopf
  OpenCurlyDoubleQuote OpenCurlyQuote Or Oscr Otimes OverBar OverBrace OverBracket OverParenthesis PartialD Pfr
  PlusMinus Poincareplane Popf Pr Precedes PrecedesEqual PrecedesSlantEqual PrecedesTilde Prime Product Proportion
  Proportional Pscr QUOT Qfr Qopf Qscr RBarr REG Rang Rarr Rarrtl Re ReverseElement ReverseEquilibrium
  ReverseUpEquilibrium Rfr RightAngleBracket RightArrow RightArrowBar RightArrowLeftArrow RightCeiling
  RightDoubleBracket RightDownTeeVector RightDownVector RightDownVectorBar RightFloor RightTee RightTeeArrow
  RightTeeVector RightTriangle RightTriangleBar RightTriangleEqual RightUpDownVector RightUpTeeVector RightUpVector
  RightUpVectorBar RightVector RightVectorBar Rightarrow Ropf RoundImplies Rrightarrow Rscr Rsh RuleDelayed Sc Sfr
  ShortDownArrow ShortLeftArrow ShortRightArrow ShortUpArrow SmallCircle Sopf Sqrt Square SquareIntersection
  SquareSubset SquareSubsetEqual SquareSuperset SquareSupersetEqual SquareUnion Sscr Star Sub Subset SubsetEqual
  Succeeds SucceedsEqual SucceedsSlantEqual SucceedsTilde SuchThat Sum Sup Superset SupersetEqual Supset TRADE Tfr
  Therefore Tilde TildeEqual TildeFullEqual TildeTilde Topf TripleDot Tscr Uarr Uarrocir Ufr UnderBar UnderBrace
  UnderBracket UnderParenthesis Union UnionPlus Uopf UpArrow UpArrowBar UpArrowDownArrow UpDownArrow UpEquilibrium
  UpTee UpTeeArrow Uparrow Updownarrow UpperLeftArrow UpperRightArrow Uscr VDash Vbar Vdash Vdashl Vee Verbar Vert
  VerticalBar VerticalLine VerticalSeparator VerticalTilde Vfr Vopf Vscr Vvdash Wedge Wfr Wopf Wscr Xfr Xopf Xscr Yfr
  Yopf Yscr ZeroWidthSpace Zfr Zopf Zscr ac acE acd acute af afr alefsym aleph amalg amp and andand andd andslope andv
  ang ange angle angmsd angmsdaa angmsdab angmsdac angmsdad angmsdae angmsdaf angmsdag angmsdah angrt angrtvb angrtvbd
  angsph angzarr aopf ap apE apacir ape apid apos approx approxeq ascr ast asymp asympeq awconint awint bNot backcong
  backepsilon backprime backsim backsimeq barvee barwed barwedge bbrk bbrktbrk bcong bdquo becaus because bemptyv
  bepsi bernou beth between bfr bigcap bigcirc bigcup bigodot bigoplus bigotimes bigsqcup bigstar bigtriangledown
  bigtriangleup biguplus bigvee bigwedge bkarow blacklozenge blacksquare blacktriangle blacktriangledown
  blacktriangleleft blacktriangleright blank blk12 blk14 blk34 block bne bnequiv bnot bopf bot bottom bowtie boxDL
  boxDR boxDl boxDr boxH boxHD boxHU boxHd boxHu boxUL boxUR boxUl boxUr boxV boxVH boxVL boxVR boxVh boxVl boxVr
  boxbox boxdL boxdR boxdl boxdr boxh boxhD boxhU boxhd boxhu boxminus boxplus boxtimes boxuL boxuR boxul boxur boxv
  boxvH boxvL boxvR boxvh boxvl boxvr bprime breve brvbar bscr bsemi bsim bsime bsol bsolb bsolhsub bull bullet bump
  bumpE bumpe bumpeq cap capand capbrcup capcap capcup capdot caps caret caron ccaps ccups ccupssm cedil cemptyv cent
  centerdot cfr check checkmark cir cirE circ circeq circlearrowleft circlearrowright circledR circledS circledast
  circledcirc circleddash cire cirfnint cirmid cirscir clubs clubsuit colone coloneq comma commat comp compfn
  complement complexes cong congdot conint copf coprod copy copysr crarr cross cscr csub csube csup csupe ctdot
  cudarrl cudarrr cuepr cuesc cularr cularrp cup cupbrcap cupcap cupcup cupdot cupor cups curarr curarrm curlyeqprec
  curlyeqsucc curlyvee curlywedge curren curvearrowleft curvearrowright cuvee cuwed cwconint cwint cylcty dArr dHar
  dagger daleth darr dash dashv dbkarow dblac dd ddagger ddarr ddotseq deg demptyv dfisht dfr dharl dharr diam diamond
  diamondsuit diams die digamma disin div divide divideontimes divonx dlcorn dlcrop dollar dopf dot doteq doteqdot
  dotminus dotplus dotsquare doublebarwedge downarrow downdownarrows downharpoonleft downharpoonright drbkarow drcorn
  drcrop dscr dsol dtdot dtri dtrif duarr duhar dwangle dzigrarr eDDot eDot easter ecir ecolon ee efDot efr eg egs
  egsdot el elinters ell els elsdot empty emptyset emptyv eopf epar eparsl eplus epsiv eqcirc eqcolon eqsim eqslantgtr
  eqslantless equals equest equiv equivDD eqvparsl erDot erarr escr esdot esim euro excl exist expectation
  exponentiale fallingdotseq female ffilig fflig ffllig ffr filig flat fllig fltns fopf forall fork forkv fpartint
  frac12 frac13 frac14 frac15 frac16 frac18 frac23 frac25 frac34 frac35 frac38 frac45 frac56 frac58 frac78 frasl frown
  fscr gE gEl gammad gap ge gel geq geqq geqslant ges gescc gesdot gesdoto gesdotol gesl gesles gfr gg ggg gimel gl
  glE gla glj gnE gnap gnapprox gne gneq gneqq gnsim gopf grave gscr gsim gsime gsiml gt gtcc gtcir gtdot gtlPar
  gtquest gtrapprox gtrarr gtrdot gtreqless gtreqqless gtrless gtrsim gvertneqq gvnE hArr half hamilt harr harrcir
  harrw hbar hearts heartsuit hellip hercon hfr hksearow hkswarow hoarr homtht hookleftarrow hookrightarrow hopf
  horbar hscr hslash hybull hyphen ic iexcl iff ifr ii iiiint iiint iinfin iiota ijlig image imagline imagpart imof in
  incare infin infintie int intcal integers intercal intlarhk intprod iopf iprod iquest iscr isin isinE isindot isins
  isinsv isinv it jfr jmath jopf jscr kfr kopf kscr lAarr lArr lAtail lBarr lE lEg lHar laemptyv lagran lang langd
  langle lap laquo larr larrb larrbfs larrfs larrhk larrlp larrpl larrsim larrtl lat latail late lates lbarr lbbrk
  lbrace lbrack lbrke lbrksld lbrkslu lceil lcub ldca ldquo ldquor ldrdhar ldrushar ldsh le leftarrow leftarrowtail
  leftharpoondown leftharpoonup leftleftarrows leftrightarrow leftrightarrows leftrightharpoons leftrightsquigarrow
  leftthreetimes leg leq leqq leqslant les lescc lesdot lesdoto lesdotor lesg lesges lessapprox lessdot lesseqgtr
  lesseqqgtr lessgtr lesssim lfisht lfloor lfr lg lgE lhard lharu lharul lhblk ll llarr llcorner llhard lltri lmidot
  lmoust lmoustache lnE lnap lnapprox lne lneq lneqq lnsim loang loarr lobrk longleftarrow longleftrightarrow
  longmapsto longrightarrow looparrowleft looparrowright lopar lopf loplus lotimes lowast lowbar loz lozenge lozf lpar
  lparlt lrarr lrcorner lrhar lrhard lrm lrtri lsaquo lscr lsh lsim lsime lsimg lsqb lsquo lsquor lt ltcc ltcir ltdot
  lthree ltimes ltlarr ltquest ltrPar ltri ltrie ltrif lurdshar luruhar lvertneqq lvnE mDDot macr male malt maltese
  map mapsto mapstodown mapstoleft mapstoup marker mcomma mdash measuredangle mfr mho micro mid midast midcir middot
  minus minusb minusd minusdu mlcp mldr mnplus models mopf mp mscr mstpos multimap mumap nGg nGt nGtv nLeftarrow
  nLeftrightarrow nLl nLt nLtv nRightarrow nVDash nVdash nabla nang nap napE napid napos napprox natur natural
  naturals nbump nbumpe ncap ncong ncongdot ncup ndash ne neArr nearhk nearr nearrow nedot nequiv nesear nesim nexist
  nexists nfr ngE nge ngeq ngeqq ngeqslant nges ngsim ngt ngtr nhArr nharr nhpar ni nis nisd niv nlArr nlE nlarr nldr
  nle nleftarrow nleftrightarrow nleq nleqq nleqslant nles nless nlsim nlt nltri nltrie nmid nopf not notin notinE
  notindot notinva notinvb notinvc notni notniva notnivb notnivc npar nparallel nparsl npart npolint npr nprcue npre
  nprec npreceq nrArr nrarr nrarrc nrarrw nrightarrow nrtri nrtrie nsc nsccue nsce nscr nshortmid nshortparallel nsim
  nsime nsimeq nsmid nspar nsqsube nsqsupe nsub nsubE nsube nsubset nsubseteq nsubseteqq nsucc nsucceq nsup nsupE
  nsupe nsupset nsupseteq nsupseteqq ntgl ntlg ntriangleleft ntrianglelefteq ntriangleright ntrianglerighteq num
  numero nvDash nvHarr nvap nvdash nvge nvgt nvinfin nvlArr nvle nvlt nvltrie nvrArr nvrtrie nvsim nwArr nwarhk nwarr
  nwarrow nwnear oS oast ocir odash odiv odot odsold ofcir ofr ogon ogt ohbar oint olarr olcir olcross oline olt omid
  ominus oopf opar operp oplus or orarr ord order orderof ordf ordm origof oror orslope orv oscr osol otimes otimesas
  ovbar par para parallel parsim parsl part percnt period permil perp pertenk pfr phmmat phone pitchfork planck
  planckh plankv plus plusacir plusb pluscir plusdo plusdu pluse plusmn plussim plustwo pm pointint popf pound pr prE
  prap prcue pre prec precapprox preccurlyeq preceq precnapprox precneqq precnsim precsim prime primes prnE prnap
  prnsim prod profalar profline profsurf prop propto prsim prurel pscr qfr qint qopf qprime qscr quaternions quatint
  quest questeq quot rAarr rArr rAtail rBarr rHar race radic raemptyv rang rangd range rangle raquo rarr rarrap rarrb
  rarrbfs rarrc rarrfs rarrhk rarrlp rarrpl rarrsim rarrtl rarrw ratail ratio rationals rbarr rbbrk rbrace rbrack
  rbrke rbrksld rbrkslu rceil rcub rdca rdldhar rdquo rdquor rdsh real realine realpart reals rect reg rfisht rfloor
  rfr rhard rharu rharul rightarrow rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons
  rightrightarrows rightsquigarrow rightthreetimes ring risingdotseq rlarr rlhar rlm rmoust rmoustache rnmid roang
  roarr robrk ropar ropf roplus rotimes rpar rpargt rppolint rrarr rsaquo rscr rsh rsqb rsquo rsquor rthree rtimes
  rtri rtrie rtrif rtriltri ruluhar rx sbquo sc scE scap sccue sce scnE scnap scnsim scpolint scsim sdot sdotb sdote
  seArr searhk searr searrow sect seswar setminus setmn sext sfr sfrown sharp shortmid shortparallel shy sim simdot
  sime simeq simg simgE siml simlE simne simplus simrarr slarr smallsetminus smashp smeparsl smid smile smt smte smtes
  solb solbar sopf spades spadesuit spar sqcap sqcaps sqcup sqcups sqsub sqsube sqsubset sqsubseteq sqsup sqsupe
  sqsupset sqsupseteq squ square squarf squf srarr sscr ssetmn ssmile sstarf star starf straightepsilon strns sub subE
  subdot sube subedot submult subnE subne subplus subrarr subset subseteq subseteqq subsetneq subsetneqq subsim subsub
  subsup succ succapprox succcurlyeq succeq succnapprox succneqq succnsim succsim sum sung sup sup1 sup2 sup3 supE
  supdot supdsub supe supedot suphsol suphsub suplarr supmult supnE supne supplus supset supseteq supseteqq supsetneq
  supsetneqq supsim supsub supsup swArr swarhk swarr swarrow swnwar target tbrk tdot telrec tfr there4 therefore
  thickapprox thicksim thkap thksim tilde times timesb timesbar timesd tint toea top topbot topcir topf topfork tosa
  tprime trade triangle triangledown triangleleft trianglelefteq triangleq triangleright trianglerighteq tridot trie
  triminus triplus trisb tritime trpezium tscr twixt twoheadleftarrow twoheadrightarrow uArr uHar uarr udarr udhar
  ufisht ufr uharl uharr uhblk ulcorn ulcorner ulcrop ultri uml uopf uparrow updownarrow upharpoonleft upharpoonright
  uplus upuparrows urcorn urcorner urcrop urtri uscr utdot utri utrif uuarr uwangle vArr vBar vBarv vDash vangrt
  varepsilon varnothing varpropto varr varsubsetneq varsubsetneqq varsupsetneq varsupsetneqq vartriangleleft
  vartriangleright vdash vee veebar veeeq vellip verbar vert vfr vltri vnsub vnsup vopf vprop vrtri vscr vsubnE vsubne
  vsupnE vsupne vzigzag wedbar wedge wedgeq weierp wfr wopf wp wr wreath wscr xcap xcirc xcup xdtri xfr xhArr xharr
  xlArr xlarr xmap xnis xodot xopf xoplus xotime xrArr xrarr xscr xsqcup xuplus xutri xvee xwedge yen yfr yopf yscr
  zeetrf zfr zigrarr zopf zscr zwj zwnj
`;

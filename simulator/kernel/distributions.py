"""Distributions of durations: constant, uniform, lognormal, exponential, in integer microseconds.

Rules: every result is computed with integers, never with floats. A lognormal or exponential duration is read
from a table of 4,096 quantiles with linear interpolation between them. The table is made once per shape with
`decimal`, whose `exp` and `ln` are correctly rounded and therefore the same on every machine. Draw `index` is
a pure function of (distribution, key, index); the blocks kept here are a cache and change nothing. Tails end
at the outermost midpoint (probability 1 / 8,192): 3.67 standard deviations, or 9.01 times the mean.
"""

from __future__ import annotations

from base64 import b85decode
from copy import copy
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from struct import unpack
from typing import NamedTuple, Protocol

import numpy as np

from simulator.kernel.random import draw_block

CELLS = 4096
"""Equal cells of probability; a quantile is at each one's middle."""

SCALE = 1_000_000_000
"""Quantiles are whole multiples of 1 / SCALE standard deviations."""

_UPPER_HALF = (
    "L8}A+!vPKeMOYUA$gUs&Oa&?c&|5PAR<b+*-UvnjXJ1bM^0in1e+*&(4`XWpp}BMbHV}RQ&Sr-IYQ2yE2^5+DtZJhGQ^BkN{uj0Yu5P~oV#UY+8ywOA+H%_f"
    "p2_3@XCUqXHh1>`49)-n=OhXN%6k(5v(g*^qbVi<nt(3>nAbP~pDscHt%XYg!`xH>;xk?W35#a|IpS~ub2)kewUC1W0qBeYS3i~kx0as)A?~OFl|`}v6rH;P"
    "p7g{4Gfd6_)T7q{fcxM9I8*8Y`>OK+%mV!Zs9FXBlClp1hzc13jA9}Jow_RmyAm}5=xRO!Bg01mY#UJm!*f~!D$HX7pCoMpBz<-QxYd6GTrP<M5QmZi)Zd!|"
    "s5qqpj*+ecgzC2fi$lQzqnyeD&h^s*2~XVuSE%L!xB>72DqHyiu(SdLNDd4G^k)?Vv%ww%h8rjYY;`dMXU{qVb}2*ynuARP(%n`AAUI$Hf|6+i`|NT9iAQ_`"
    "Euw`3=lqTXxL241pR%C?oeir4vuLyf-^0BFBp=5EfO^ma^wrq|fidF)CXMU^<mmMSyF~v3tDp!3wEPhS*H{|_6tyG-Y!NO5-EB7nYRW(a5hqFn(}Pn4vEW<;"
    "sy$`|znX6Z@b`EGJyn7Pr?QI#EfAFi(QTdtk;|t9Zz-_^Ylpf7h2_Hpy+h3e6Qb4xhXCLN8(--J&b{&kpB(%Ik$VLNqS_7x(>WLgC7B@wm-s3LDp)iH-M2jj"
    "vKL1MsCQ5Wz}Hy?`Zr?*R+wxB)cAD;by<G}Il71iARCeeDtwy-SKXuqsXnd+9-y}cxB<Zhc4Nu~S;f-@VJF=Mj)~?4;p^`OSx)%{_pky6yAuosrgjwux7i*B"
    "?>s05PoOad)dM>Qgl9wsTFXraST9!wev@DZ&G%^rL|k(Q<-mLfuO)^CqKc0Ozwej^2UVg5c)F_w6d<(*+J(Lb%j?Gm=uy!IFu2+VqaNf2Lxt@I4(#>@22%hB"
    "D!K^=d?6DD`iL9{rtl>Pe^@UEhQK%nyC^~jACXH3vH4U7a$;TwVasO+fHZLj&z*V)O$USr`*4j1+S--}=|rFhD6gppnHjSOI)uCj4)4VW6I#y)NyXR)vM}NY"
    "PMqrp90>IX9d!N&QQ!v%xJ(fUQ@I)lA|@mVC6g@(TmUx+$ZbFfY1>H%KS@&vOSfDIizQ|V0+eqEuL5}pl5v6vtl*0X{7;n#guk8$LocWZIiIlzXAipw&40uQ"
    "Z1BwpLt)nlQ_|oFoI~me9<}ob+9v%7&zJ@Y{|XQZX?+<94e%lf>|!hl2G%tRTS-3&?7T<`xiC@*!lYXX2N`7vh>dOuMgn*VLU(})dhCh`@L`k*q}QDZmQAM#"
    "#>21)G&;Ho;;_RB&L_<Y`kvMaWftHG5RT~y`vvm}CVu=0lJ*4(K5q{SEa(^tTVWy!%i1dnepEFIa?U;qs7Oc(BEwM%-aT6i-MC~5A2e<XrLT7iZ!3Wce5Z;E"
    "&m)uyWuTo3K^><GVw$iD$QQZ_bd|#jWfRQ`osrfG8xY_M;Ew4E>kab?K8^ee*bD{>x{MDC<O~@LR*fPH5e_U16pu9vU=TkG^^r&m)Duz*{gqn_Zy03@ESqi%"
    "Gah&ghM|EABPELq3#pU~KP{dMzp<wai#D+fqr18b2tmXPy2i~5xlGp!1=HXQpIPb)hv4%Iy=VOkLhl9)6?YH}H~$$7sfQyBY7i|9dYLv1+af>=jI2ovjy6*a"
    ";J{oAgiB@&c-C(WzhQX{SM7ofLV1h~e+8Bd4w9b?@gAuRC#<pzusOU8jmO0dzE#f*L*&>D9dqIgOakl-(2?~FsUiOi*s%x=T|yEKH`5ypX=Ei0@%1hZ(1$n;"
    "1{y*Ql&nh)dOuYSxYAw?PG)EgJo<4BgpPX+B_o9mAGnSUb4{2HA>*M9DS4|6ix0I8Nv6IHVLiwV)zr}qrEJ>`&;;cTSe@<-JT~|Ze9r+68fgm-6$2FxZk-+u"
    "BseGzInyx?tZq9FeF{YmuBJ{7K0{azE#P4ee0^&UD;sqVJGp)it5=8)eD;wJu9ce(LN%ohH`T5Vk9D{XNfyEmWw*-?<XF`X#`@k444vo>wm<R?!{Yl6HHHNb"
    "3@Q%~N6r`z=W-$s?H4Q$S-mw6Dq}wnVhKqP0I*UI23K4Ua{grxMy78Mflhf3CHI04F`$eOrAd|#g7cpb$(^YWc}TMllJmR|7N5os1WV8lT=&@zAf)3DPEqX-"
    ">HhW)@2mh2U|R|hKME8Oin$#SLTM)uXBjaN`N=vE`g%kVXe>?;Mc!8sk&s~!OhaoBcJ_1-5UPF<8D5AGlM<2;eaD*+*nFiBq%yA%;pn&!ke|X3u~y6wMGn>w"
    "O2*$1!+z-yuQ&4$5ApmE;;IG_DP<55<sTXm726{bx|S^w)lxSRWe-6SYs^X!=ZRDi+DBdyLk4IOB*k$Ne1v-uOhkndlLU_uQ^lAOjE15SK1i$)X$rOx4b8t1"
    "E0D<%#8cA|*B9LpW!&ZwZK3cH@@D!G@+<@rZu1QiX1W&=+kqhx%}FZ~JQ6h$Dce30l%z-!eQr_`<TzXs$^&K+Fwbui6`OeydS`<YUNnso!~vHQs?VSj5uU0N"
    "`E0ZjV?4eRPYlQszTD9gudUk>BY))*8d2{Ol_U8Ql=cD>7s?D1AD$Kyt8yR{y+<k&R2?)Eaq~SB70O2wKcP_*?|54iCsAb+<|%IzE(3WJ{oH~RRkw^2HIkMS"
    "pKYKMl1Zu)4kok{6$8E#r{KpE!@kiIYMt8?oqXjJTU_rGr9Al)d>sQ6;QkC0(BKvnPs1P-TBa%#^ocYS9d14p)KW+k8aPrE?;TteRRm@fO6zYF(9(Gn=DLFv"
    "j-!nf$BdU0l6IjK?_jGG-%GU=VK=`NcO%IZAQ00OT>ab>E$ikKliBbTjmY{G9k>J)LZ}WE{g@aPPKqKGHhe4<wQe>Q%V9tjc~wdkzDZOSoIYL^6EtWQA}Vqf"
    "%piOf4j6_N>kp6>VhEZQbOEFlBKxfsYW24jPw>GN&+E$-?dR1Mr{v!i{^98r^WXCohTi=Zx7`O8huskt_uU&71>YqWv*0fl0^>Or@a01mfay&ZvF%qDgYsb("
    "`1flT4*qo($OM2EBn*lcBoveu#~hv(4<@J<`!BK<j5@p)!bQdwo>9;iAYR%QNNeO47J2R#jEDFZsg?p4Zl(+u+_n}M@y8$+u-PgX80<6`D*rwg<`PL4Oea$p"
    "T|8YE8B%8#foO3Tm4AB|RhNYq!LN@O+sK(0qT-_$7yYdlI~ceZ4K%_Rj!?`OzHQbQo{QiYE~@GmZ^`r*VCnuB0}2TkSSu44UQHbs7jP#SgOf2BqqjR4b=*Z5"
    "`~grHI4D{eC{JV<&30}WD4%#3Imm(-0P>6&ejJw=vqzyApmVDjM4+`8q0PS-xBJN$hAPw;4_e+BQHtmoPP_6L2JQS9c^?NEr&19al7<@@IJ+eoobWFhy(T&t"
    "n_Wa1H<eBqlFe8dtOjElg+Of?9eZ~fcD8{TkMfHdX)l%;1Z|)hVXLYcfa<gvVk*BG25ZR~ZmiQ8n(o~hiZSRJK6UaLxViip_x=VN{6rBN$BP>pS<@vNvKufO"
    "(_}gtysktVZTU_b=R{c=Dv@IvH{NX;4lH;YuzG?T9m<RvRT`HXS!<yhDZQ&2#t*g{Fk`?PXt&B5ZVc5LLSo+<<+$k@SP=9YnrQwSt-%NzkQ);lM0On;%F!nq"
    "A}%r;Op81lN$Ex#8AwqZzNcFoHV9@LgK2OZrOSF7oi2qNYm$!}5BHfHid>`{+`_IK1}eE536jGb<oeAUm}J-+CePv<jymld(Wdts?h^tW=Yb3yyzmwrZeSrC"
    "{Lm{LXhJp|v9v%O*e6RI-<wq&#1LQ{iH2$%F8y>Iv~+(Q8|{f4V`h{bjo_Xfnp>$Hir2FoT~xjt6w=5XuTaw*FVNi_l~Cv$;L-9N5mfygD%S@cDO(a95a1jg"
    ";AJNrnCvkfIdnW7#Qa7bI)+glnGjqZ<eO$48z^xdJ+*rsO+$tqNz#xVGh&+^3-hHN(S)!ahZnmYEUU#G!avX*N7dRLzH8+jCj;;uf}8ps&ol)d56=%CLuwix"
    "YX&7AhodhZnL#=ppx{Ivo`6ptk|A0ieZyoPU}kR~I|_Op53htC+*FSqqx+d2WTT`WAWW|w*Y&v`ilD?EI!w<V=J?qjkEY}vH&yQ*-30m`g0%!6Cua{I%NZIU"
    "aLpti7lJPzzBf7_XzoNG6{b%g#a>z;c^G9MG1G4!?v8pNu}g&?c?pmoNXVKW9*CtM{7A4L;R?GS(9Ojk$C1z<$yVDR)Ewp?>*Mer4XpbgJ9P#ic0Umyz6u;5"
    "6W1mnccd{O>2f?EYeGjL{Ss0jpX6L1Q@3Xz7>jZs?_Yf&*)@nD)(n#%=j5Fr4Zf%#NSL!Am~*}$|4+#vd@a-<5e(lTzU%2AgUs|GVXprmS&<4MY;_eOnOYzr"
    ";Xo@PMkqER$PhsxX8KDZBjr{h{m@|{_q}W(5v+G1OPhirrHhRrA$^!3zi*=<fMc#9WLUW&Yfi)=m_^Sa={?#ZU^nF<{W0(%!7ckCtttj0z$g(S{U;nEV<;yg"
    "@+mSRtt>qvk}yajq%~6_;yYd<O+#rS=1X)UtyO;_qhN|6$!wJ(A9|o7riiN|UzoNcN~ysjXS>WIxX#xiJ>%jc_xSB1<`4NI3@8L6Xh9Dn`&$|#$9E+o%akx9"
    "2(vpQf6_)HG4oL)9u-|9NH}OCtz2^>P=bCVF{z0oQPGqmu=<}PPbI4(E>X54PkzB8v8>D^SKQYlKMms}Y(MTJ-E#ROl&1tFk=+j@)D#;eUri<?GKVoFPQpAS"
    "wEjmVV?0wNUVC07q`PS(HvM!Y6+nO_LWGMXzR8v(h!CPAqgbsZ4WhUt%Iw1=*f`H5IELCJ?bPKY^(65mQg-|#1jz>_4IL9DZE_wZCCMozH6b-6o_atfVbx0|"
    "e=%1j_>N*F&FyU^|4n%%kFSI!eG-r*%66M2cig5WghR3=^Q*lj#1+XU_<+<UknP_ki(Bg@?8^2fvpWJN;jIlObs-rha+V|}*bFcxsDwKv;{8S@h<H*ane<&I"
    "7jkJP1MzewUU7gXC-aLYVRn}$3;UubCV{Rdv<SK;wvojqD;&`#6{y@MbT#NEO2qRfmsI~ITjmNUnRyl`P!1v|fut=bE<8CWSJgx({BKYv9}HY4!Kr5_;z)BR"
    "gXw-JrHhIuNiUWsZ`7eD8GEfKNF%u?`^>~AG<eV_^(5RUJ=5nW4TJM1XEgsOOXmtGx|<d#wNWA{Jqa!-Q^GkY_k2YtD>+dp?)F?LM7C%sD|d7#r8$5ov;B)G"
    "Rl}Dkjf$fvTvM+o!5zCO!0E;)SGUqAh=$%MR9EUKyeal5!TkX#W77>Oq^cPygo7n11zs^JCptYT>laBWQukCTUf5tM4!dkAWS@8`VTFV#25pcjR92iROF^h9"
    "?Jcw^Ivl_$Gz`os+x^!mF!AFlHRkUr>fHM&QPl@3Y0ncXHOn6=wa6<f>c=-K)yP9Ccgs&I(a&2d<<(~@vfXnkI_G~Xe)5YdfB%;%KMtfSy&kYC`!KvJ`b5Yo"
    "yIRyLKXTwIhl}hgl&1J9XTt<50pbuVV*(v3jwC57gh(|jL~cPV(UnarE5BJQQ|e_aOBZr06Gnb3tagek7^#*kSKXp3YZI?4RZF`o6@|wut-#YO9{%4eX+7*K"
    "kAC<ok--Eka0U@9ElnLP%9SZBN8mLqrYu4%=z2~p4a-_A7aeCT2XS*O-o}3{ogR!VMtGPk+0&#fS23|H!;rl!9P-I5WL4HIoVwyH#v$)4;fnh#@%0BS^<oq)"
    "@6jMF;6g1e$+bBxt13n<h@ny~VH#g8H<fEG3KDoN-H?PWuo00hg_NBwT^Xt^IiR*J8Y#mq0kqF8@Ic%x=+Eda>R|OP_wxZR5s3~iIUpM@Z@DKfwp27O4)Q=Q"
    "d67*n_%d29jMio@Hhgm~`6GZX)Xj`8$$6PB+9#$i2-vbNREobYzdp<^OZC_;`K{$H%4qT~z$O1K+~f-{9;O&CiD@M-9xpO4-u6B(%fL%7<&0P_E?Z?Us4H?W"
    "RQ`T1GSiDMMyi-EkAtNz4_~q`$2`9;x*W_e=>FI*Q{&|?`^oYz<FfxR44w=ycZ(S?CVM6@8f`N$RAE3c)>ln1p-@^dw@YU*8A)_7$w+}P$V!ed7f+ioxK*ey"
    "tX{P+^=ZN|ly}cCi-+7W+nMPwhOYK7jl}~o@!k+IwfY?~*%&J^UpY82NnAxSn1NC;O{rfoYtw8o^8a};<t~RYL|~LL5|p7aPs*+_{sO!)A3n)3wR_ev!Mo!z"
    "MgH(HLPP#Bx{3=juGAPZAR#6)5pXjyguy^Ec@<7F^J`l&^TcQ}dLVW(i++PLCf|@UPC}kC1*oesOAxs-B74R%jp)-djacC_Bg^hGQ9%4M8Mp~EeKHp_ey=1m"
    "9xpO8U$H+kLN-k^$-P=L_D5(l%hYu<No0dFa`uojNsFE{%_6Kb0=>C2=~>4!h56Jo)|=up-azm(py>TG9g_<*RzMjvPw*x*2%|JKgjhl}!w^t3$;(|dmx*gM"
    "FG_hdk`0G6!_$;B#GIlum1wXuIyb&Fv<S>J1>M;+FSO@0G>-K&7Hb1F)=CjIcP$?^`VuWQWBWQavF1oM=+ss<3dUqL7`k#b6|sOd0;`TS;isH6wWq2zfU3AP"
    "L$Jm*0J+pPy2Ro&bJOrOE#>|->G=#csu3GDb1W$~L`pX{AZtZ73XfAZ1GZr{4&ZM#EDe4(U_FdBtZ<q(5~rv(l;E~DH66t^_FU68+MnSz<mK-+6fgcZZhH(j"
    "^U4}GrX49aigPzNpv*-#>L^q<YlvbuChKrF98rHaP`Zsb#3r0KdX}m;bqTpQw|~bsLiyD<8Fu71KKAlAw0QwId;kzQnu;Dc4;U>t->5q{3O!0VmDE@`fp2Fx"
    "(G7Muhp&V<rBstRFa4o7CaJJEj#$4qXba9bx53;vetYXUz&QFie)$MFyS*1VdW9xAzECweh#y2b-SJX6y~klWEunBZE`EPG!(NU#??Rn9v?{DQ78biX7X`{W"
    "x%b#P|Lx~F?C175gXIM}#^w|{x$7f3UGy?Kw*W#q#}H9ElO$j|8$541V^@AUZg!12Kbf35*uSefJ?gqTa2U!ubV}JeOn~S*`?>czh4%(K>o^uWF@7aGS;sUx"
    "XcR;{U}aM~L%L!+6%%qh*>8b6lF*PlLp7i~@13tZnhL)=MSIRW_3zy~t!V8#Z{_?uKV}R(AnO}E7IZ5-BLO=+N|H)EkSAI^_P}X8fnIq$GysV_5vG_t9Z;w|"
    "TmH8^&9KKjcxTr<ULxl_gW>i(>!b!fm~0k3k2oeh(+D;_X5B?SPPSD&jFV+OC3ST@99xAwbw!muGc=_=S|_zV?H<KF@EX-UXB*``Rv`5~zbOSirZ*Kn5K1LJ"
    "0AV#gdVEDbft*!78Np>fN9uJx4H$+#a7vawbAhHl8ojnYYW>DOWkT0J5sc?PaN74ihb;&{T7?)t?cpdtLqj<~VyQ_#OB7l^1%zrpllXc+`EiRsJMf!7U308I"
    "WBa^6Q;5w!FB;xI{IKpnzD)l=dhHKDGm{`d?>#X<vF$-Xexg!9T3lm5N*i=QQQw3>b*Pm<x^|{OBuckHxFX0vdH~r#Z{z7eo6Gt@1i1@At*abCo1-m3)1W><"
    "TBA=vHLGAjXSi`e_R4}m=i-w=J^-ab03)_RGfT%o+IZMO`>W|eo8<aIzak7mY-SxormrqSbN)X<*iunK+N@$iehhR%$#I23!Q7TYYE7s@%EP%r=0D3q!@=A_"
    "XG!it*Vg|+7-|tiFask)B%(A!`9?-Vw((a(U!rM4`&fHJjunkV9@w5kvY@a-O>e?O_(Rk~wjSm~j{o;Vh2{xFqSG5h>c%ZZWWYZ}6u?nL0mfrQG17HJtK^47"
    "bN!h_kQ}T;2|~U^;%(4GB%tC%)7bPx_7?|5lwBD`vZ*UYSNuIiid9fWQMF=4u^V+ovxtX9T>P0uvv#aSzxTdHhJVpT4-Vu-V59a$f<FmHdEy&JO^hx^20cMW"
    "s`OJvKeJ{=&Ukr7Tt$pV@)(~+mh-VjP}RgnCcf83Ag=00My35mo}&;)F{vX*1-3RvA<9WdkL6rPRS0lLdNPAY2V|B<1D&ZycHO*3XeH1`;dJ9i=*#v;hAIk3"
    "!jK(ErT#ETH*`cufALpHhjwd7Rs(-X^_P-JY&51w!`Qh<1BJ~<H96r(VfFM#khus+%7q+B8Coz&gf>J;6&qMd)dy@z&HR5!1^Saoi2tWaT@AcRk0a1YCPL&%"
    "ENS>js+bH)s?Z=xH4!yRRa!|(6RcfIc?NPyl4*uYX4RTX|4FY(Xvf1!t4-KS(%kGy=5zr|^A#3L0>COu9&<lSQ7=?Wru1k_C&PV9-<pz3*?Xr;AZENvzFE;r"
    "zE<W-EM5Cc6KxPoeTF4WcBwi{3D!?cLkwk1Elhe$)s>G-Md_qWiAK6it*y^Yy&mOE#hLm{(jE{^?yV(FC`UU@it12JA(&=O`cHgKA`+5KrQWAakhQ%{@0Qa|"
    "(SqqsLV5p9PI?ti1cob4ahyR;qP<s6rRi->h#-VcSYnz^Bd@Sd_XfvK<7wSa^w;xFIZ+Bvz||m6mt{9k&j3zObf;ubmRWmGMHiA!j^L<Ig0;U-FP7F%rh@HH"
    "^?C$QEPoqNT#qtPldDNk<I`YJTL^ei3`vhr29~B!TJOD37**9!QpfC27)At9d(j(FjcGGcUk*!A0>ENXiGF%f1xk`pi6W{|B?!V%?fThK^ZM~oNeBv310y0*"
    "GfO&B?0`~ILd0rPNEL%p5OkYTu;8;&J6p_B#pC2sVtV~jCm$A5DAF!ddXq;}F=Jp;WI=gTCoYmxk14BDvopj~s7&2cgmm^(UaJpOOz|jGWJW?%zN%YPa2|D3"
    "lA(@NJT$0Ogx0}SgNWNyP)hYw1so4my8S3shwnmFhVfig&;xf>ekPGss#&X5Zk@$d<MH2BCRh4ZP|Xxpd{i%1#q3E|N0ww(9#MZ*W*wSVI{UO%xa!YV{Ojsg"
    "BmV_gOC%vzky|`h6Qx&I@BnjHMsJQ+H1Mfc*@MMbRVv|E#^d}~Pp}wR4v;ihC4*2{w25q3-lK?E#L=W!h!eqBOljR%G}HN5Vo?@Z`{OcMB8yL1`$lY8s~3q`"
    "SN)|~CHTTwI|$%ezAgP()@T}9s<}5>VIWmnBb{<u88DDqYuT+@Lz&B3%WvsgEL{g%l3^uVCw)U(7_ebmkotdHyj-4J%GSJF=4jhnKNI>}1=bi`WwAG0kfl~!"
    "wz73x3E7lfxfrxu`Ek=+{N(an^l=hh78x>KmfBHWskU)lhOLoZV!yFnbnMYx^)&Kb9hnkdB^fhbN3~O4y=`<}!$Or_l{B_qa6{K#k#G23Hn|yJpddS64W?XQ"
    "zDa&x_6wk2_w2!61nuKrVGIUfR7)seBdSVZ6e(?BZ^(~eeu%PQi)qzh-)s0_$d4OglGQ$8i#=jt1IUG8Np-1Vu0_pZhB@(JBvBP&-HbV62JKy9_i=(^2pp$k"
    "l<Ui4_2BSgi2M~}sy;hoyQg4d8aReyEAXphQP9z2@YwfbZwek{Hf2O)ujy)JMVOIfWO2A;eRbbt{-g$FS^zF(1c+5-bUb}!A0DM;fGy2s6KnNlRM#D5#BxSv"
    "<UMa@H#wMQL}kHdl)~y}uTd0dB@;epg9m75TQ8DlLW{g-&l~4wo8b{?LESuPVGn3%op_UInHj%m{qpK)as?M@s8K^{PS|g08Je7F!I#Nt|IzkolSw3MKL1f_"
    "$Mb(`_9w1tnVj5efl>==gi1PVe1&OiMFg2^#K*{M-O%`Je;_Grm$zAL9hZu13c$N;UNh}%9`YV-RQ*tG5>|t4YyGute)Q;VY&;xpUDi)-fy0At4F$MvKb-7t"
    "TZ$oXtI$?&gm8>+KWoBoK*IQM@^&w9$%<xhL;sy{<ki)1J`fIZ=&wd`h_-)m$|bpRX#etYB}FZA()ed`N*tqdb+O)ZNV*zx#W+`U{VtSq4xiC;C5sPqfAvjt"
    "XyA-=Jx<JYZ9xomc)Uz?@xhICepJtO*me<i&?{7SN_LlaL0Q{&$=4ru4E1DpPqeCc^ceAXbS5}>Y2bf&ib}|Mu4oZ?%|2Us0nw#-i6ilO$~rxIQ5%YS)yda-"
    "H%lgaiKKOV3fskdE%X+Aob_mYH|4v08OaZQoTp@cT!*@SI&TqvUS?^2L3F}?s-PTyx$}2_=ylY85->7=dMlBD&~fpAI1N*QQ3$qyKW-X=vPyu0@u}y6;FwT@"
    "5+%EX(Of5lDNmJz{tE?#6{L2BCMoKL^{roqU`E%5dIwR5rU%W3uU<=t>LtvGT6j;1)^gQ}H8fs|eBJ4a8<Kd7BzOvpmAIdbsDC((CjHcn*JO2$@a`FpoY=yT"
    "nPhN~>)Rrctd81|1=W|5N)TI<QmiDD4I%ZEXY|aKki4vx$0C)Ny5@$Mx8j1C=MajT;E|o11GT=KN(1kmXiYGmjJ|}R!1eB-<|uNb999ygJB!q&uTa0J?@rsQ"
    "J6bfY!aLiq*YxPJwLyipd_wiQtK`DKGAK*QMMI|A"
)


def normal_quantiles() -> list[int]:
    """The 4,096 midpoint quantiles in ascending order, times SCALE.

    They are committed because `log` and `exp` differ between machines' libraries.

    Rules: cell i of 4,096 equal cells of probability has its midpoint quantile, times 1,000,000,000, rounded.
    The distribution is symmetric, so only the upper 2,048 are kept, as little-endian 32-bit integers in base
    85. They were made once by

        inverse = statistics.NormalDist().inv_cdf
        values = [round(inverse((2 * i + 1) / 8192) * 1e9) for i in range(2048, 4096)]
        text = base64.b85encode(struct.pack("<2048I", *values)).decode()

    and must never be made again: changing one value changes every saved lab. A test compares them with the
    inverse above.
    """
    upper = unpack(f"<{CELLS // 2}I", b85decode(_UPPER_HALF))
    return [-value for value in reversed(upper)] + list(upper)


KINDS = ("constant", "uniform", "lognormal", "exponential")

LONGEST_US = (1 << 38) - 1
"""The longest duration that a distribution may give, 76 hours: interpolation in 64 bits is exact below it."""

BLOCK = 1024
"""Draws computed at once: about 20 µs a block, so a draw costs a list lookup."""

BLOCKS_KEPT = 64
"""Blocks kept per sampler, 0.5 MiB at most.

Several clients with distant draws can share a sampler without evicting each other's blocks at once.
"""

MILLIONTHS = 1_000_000

LARGEST_SIGMA = 10
"""The greatest sigma of a lognormal: at 10 the outermost quantiles differ by a factor of 10**32."""

_BLOCK_BITS = BLOCK.bit_length() - 1
_FRACTION_BITS = 20  # of a draw's top 32 bits, 12 choose the cell and 20 the place between two midpoints
_SUB_BITS = 4  # tables hold sixteenths of a microsecond, so that short spans keep their shape
_ARITHMETIC = Context(prec=30, rounding=ROUND_HALF_EVEN)


class Span(NamedTuple):
    """A distribution outside a scenario, with the fields of a scenario's."""

    kind: str = "constant"
    value_us: int = 0
    low_us: int = 0
    high_us: int = 0
    sigma_millionths: int = 0

    @property
    def nominal_us(self) -> int:
        """The configured value; the middle of a uniform distribution."""
        return (self.low_us + self.high_us) // 2 if self.kind == "uniform" else self.value_us


class Varying(Protocol):
    """Anything with the fields of `Span`, such as a scenario's distribution."""

    @property
    def kind(self) -> str: ...
    @property
    def value_us(self) -> int: ...
    @property
    def low_us(self) -> int: ...
    @property
    def high_us(self) -> int: ...
    @property
    def sigma_millionths(self) -> int: ...
    @property
    def nominal_us(self) -> int: ...


@lru_cache(maxsize=64)
def _lognormal_factors(sigma_millionths: int) -> tuple[Decimal, ...]:
    """exp(sigma * z) at every midpoint."""
    sigma = _ARITHMETIC.divide(Decimal(sigma_millionths), Decimal(MILLIONTHS * SCALE))
    return tuple(_ARITHMETIC.exp(_ARITHMETIC.multiply(sigma, Decimal(z))) for z in normal_quantiles())


@lru_cache(maxsize=1)
def _exponential_factors() -> tuple[Decimal, ...]:
    """-ln(1 - p) at every midpoint p."""
    whole = _ARITHMETIC.ln(Decimal(2 * CELLS))
    return tuple(
        _ARITHMETIC.subtract(whole, _ARITHMETIC.ln(Decimal(2 * (CELLS - cell) - 1))) for cell in range(CELLS)
    )


@lru_cache(maxsize=64)
def quantile_table(kind: str, value_us: int, sigma_millionths: int) -> np.ndarray:
    """The midpoint quantiles of a lognormal (median, sigma) or exponential (mean) distribution.

    They are in sixteenths of a microsecond. Raises ValueError when the longest exceeds LONGEST_US.
    """
    factors = _exponential_factors() if kind == "exponential" else _lognormal_factors(sigma_millionths)
    scaled = Decimal(value_us << _SUB_BITS)
    longest = _ARITHMETIC.multiply(factors[-1], scaled)
    if longest > LONGEST_US << _SUB_BITS:
        raise ValueError(
            f"the longest span of this {kind} distribution would be {int(longest) >> _SUB_BITS} us; "
            f"choose {'a shorter mean' if kind == 'exponential' else 'a shorter median or a smaller sigma'} "
            f"so that it stays within {LONGEST_US} us"
        )
    return np.array(
        [int(_ARITHMETIC.to_integral_value(_ARITHMETIC.multiply(factor, scaled))) for factor in factors],
        dtype=np.int64,
    )


def interpolate(table: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Microseconds for 64-bit draws, by linear interpolation between the midpoints of the table.

    Beyond the outermost midpoints the value is constant.
    """
    # midpoint of cell 0 is place 0
    place = (draws >> np.uint64(32)).astype(np.int64) - (1 << (_FRACTION_BITS - 1))
    np.clip(place, 0, ((CELLS - 1) << _FRACTION_BITS) - 1, out=place)
    cell = place >> _FRACTION_BITS
    fraction = place & ((1 << _FRACTION_BITS) - 1)
    below = table[cell]
    value = below + (((table[cell + 1] - below) * fraction) >> _FRACTION_BITS)
    return (value + (1 << (_SUB_BITS - 1))) >> _SUB_BITS


class Sampler:
    """Draws of one distribution under one key.

    `constant` is the value when it never varies, else None.
    """

    __slots__ = (
        "key",
        "kind",
        "constant",
        "nominal_us",
        "_low_us",
        "_width_us",
        "_table",
        "_block_number",
        "_block",
        "_blocks",
    )

    def __init__(self, distribution: Varying, key: int) -> None:
        """Raises ValueError for an unknown kind or a span out of bounds."""
        self.key = key
        self.kind = distribution.kind
        self.nominal_us = distribution.nominal_us
        self._low_us = distribution.low_us
        self._width_us = distribution.high_us - distribution.low_us + 1
        self._check(distribution)
        self.constant = self._constant(distribution)
        varies = self.constant is None and self.kind in ("lognormal", "exponential")
        sigma = distribution.sigma_millionths if self.kind == "lognormal" else 0
        self._table = quantile_table(self.kind, distribution.value_us, sigma) if varies else None
        self._block_number = -1
        self._block: list[int] = []
        self._blocks: dict[int, list[int]] = {}

    def redrawn(self, key: int, spread_millionths: int) -> Sampler:
        """The same distribution under another key; a constant is drawn from a spread below it up to it."""
        if self.constant and spread_millionths:
            low_us = self.constant - self.constant * spread_millionths // MILLIONTHS
            return Sampler(Span("uniform", low_us=low_us, high_us=self.constant), key)
        other = copy(self)
        other.key, other._block_number, other._block, other._blocks = key, -1, [], {}
        return other

    @staticmethod
    def _check(distribution: Varying) -> None:
        kind = distribution.kind
        if kind not in KINDS:
            raise ValueError(f"a distribution of kind {kind!r} is unknown; use one of {', '.join(KINDS)}")
        if kind == "uniform":
            if not 0 <= distribution.low_us <= distribution.high_us <= LONGEST_US:
                raise ValueError(
                    f"a uniform span from {distribution.low_us} us to {distribution.high_us} us is "
                    f"impossible; both must lie within 0..{LONGEST_US}, the lower first"
                )
        elif not 0 <= distribution.value_us <= LONGEST_US:
            raise ValueError(
                f"a {kind} span of {distribution.value_us} us is out of bounds; use 0..{LONGEST_US}"
            )
        if kind == "lognormal" and not 0 <= distribution.sigma_millionths <= LARGEST_SIGMA * MILLIONTHS:
            raise ValueError(
                f"a lognormal sigma of {distribution.sigma_millionths} millionths is out of "
                f"bounds; use a "
                f"sigma of 0..{LARGEST_SIGMA}"
            )

    @staticmethod
    def _constant(distribution: Varying) -> int | None:
        if distribution.kind == "uniform":
            return distribution.low_us if distribution.low_us == distribution.high_us else None
        if distribution.kind == "constant" or distribution.value_us == 0:
            return distribution.value_us
        if distribution.kind == "lognormal" and distribution.sigma_millionths == 0:
            return distribution.value_us
        return None

    @property
    def least_us(self) -> int:
        """The shortest possible draw."""
        if self.constant is not None:
            return self.constant
        return (
            self._low_us if self._table is None else int(self._table[0]) + (1 << (_SUB_BITS - 1)) >> _SUB_BITS
        )

    def at(self, index: int) -> int:
        """Draw `index` in microseconds, 0 or more."""
        if index >> _BLOCK_BITS == self._block_number:
            return self._block[index & (BLOCK - 1)]
        if self.constant is not None:
            return self.constant
        return self._turn_to(index >> _BLOCK_BITS)[index & (BLOCK - 1)]

    def _turn_to(self, number: int) -> list[int]:
        """Make block `number` the present one, from the cache or newly computed."""
        block = self._blocks.get(number)
        if block is None:
            if len(self._blocks) >= BLOCKS_KEPT:
                del self._blocks[next(iter(self._blocks))]  # the oldest; dictionaries keep insertion order
            block = self._blocks[number] = self._draw_spans(number << _BLOCK_BITS)
        self._block_number = number
        self._block = block
        return block

    def _draw_spans(self, first: int) -> list[int]:
        draws = draw_block(self.key, first, BLOCK)
        if self._table is not None:
            return interpolate(self._table, draws).tolist()
        low, width = self._low_us, self._width_us
        return [low + (value * width >> 64) for value in draws.tolist()]


def interval_sampler(mean_us: int, key: int) -> Sampler:
    """Intervals between the arrivals of a Poisson process, `mean_us` in the mean."""
    return Sampler(Span("exponential", mean_us), key)
